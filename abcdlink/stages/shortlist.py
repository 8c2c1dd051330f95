"""Stage shortlist: the approaches that propose candidates, with the reasons in words."""

from __future__ import annotations

from abcdlink.corpus.io import read_corpus_from
from abcdlink.evaluation.cutoff_choice import Lengths, mean_target_sentences
from abcdlink.evaluation.shortlist import Shortlist, ShortlistRule, shortlist
from abcdlink.layout import CUTOFFS, NATURAL, SCORES, SHORTLIST, SYNTHETIC
from abcdlink.linking.cutoffs import FittedCutoff
from abcdlink.stages.benchmark import read_benchmark
from abcdlink.stages.once import is_done
from abcdlink.store import Store

STAGE = "shortlist"


def run_shortlist(store: Store, rule: ShortlistRule) -> Shortlist:
    """Choose among the approaches of the benchmark, or return the kept choice.

    A rule that the benchmark cannot follow leaves the run as it is, so that another can be tried.

    Raises:
        InputError: when the benchmark does not hold what the rule names, or the run's shortlist was chosen by
            another rule.
    """
    choice = None if store.exists(SHORTLIST) else _choose(store, rule)
    is_done(store, STAGE, SHORTLIST, rule.model_dump(mode="json"))
    if choice:
        store.write_record(SHORTLIST, choice)
    return store.read_record(SHORTLIST, Shortlist)


def _choose(store: Store, rule: ShortlistRule) -> Shortlist:
    results = read_benchmark(store).approaches
    benchmark, annotated = (mean_target_sentences(read_corpus_from(store, name)) for name in (SYNTHETIC, NATURAL))
    choice = shortlist(results, store.read_table(SCORES), rule, Lengths(benchmark=benchmark, annotated=annotated))
    cutoffs = store.read_json(CUTOFFS)
    fitted = {a.name: FittedCutoff.model_validate(cutoffs[a.name]) for a in choice.approaches if a.name in cutoffs}
    return choice.model_copy(update={"fitted": fitted})
