"""Stage shortlist: the approaches that propose candidates, with the reasons in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from abcdlink.corpus.io import read_corpus_from
from abcdlink.domain import Domain
from abcdlink.errors import InputError
from abcdlink.evaluation.shortlist import Lengths, Shortlist, ShortlistRule, mean_target_sentences, shortlist
from abcdlink.layout import CUTOFFS, NATURAL, SHORTLIST, SYNTHETIC
from abcdlink.linking.fitted import FittedCutoff
from abcdlink.linking.records import Approach, ApproachKind, current_name
from abcdlink.stages.benchmark import read_benchmark, read_scores
from abcdlink.stages.once import is_done
from abcdlink.store import Store

STAGE = "shortlist"
QUICK = {"quick": True}
"""What a run notes of its shortlist that no benchmark made."""


def run_shortlist(store: Store, rule: ShortlistRule) -> Shortlist:
    """Choose among the approaches of the benchmark, or return the kept choice.

    A rule that the benchmark cannot follow leaves the run as it is, so that another can be tried.

    Raises:
        InputError: when the benchmark does not hold what the rule names, or the run's shortlist was chosen by
            another rule.
    """
    choice = None if store.exists(SHORTLIST) else _choose(store, rule)
    is_done(store, STAGE, SHORTLIST, rule)
    if choice:
        store.write_record(SHORTLIST, choice)
    return store.read_record(SHORTLIST, Shortlist)


def _choose(store: Store, rule: ShortlistRule) -> Shortlist:
    results = read_benchmark(store).approaches
    benchmark, annotated = (mean_target_sentences(read_corpus_from(store, name)) for name in (SYNTHETIC, NATURAL))
    choice = shortlist(results, read_scores(store), rule, Lengths(benchmark=benchmark, annotated=annotated))
    cutoffs = {current_name(name): fitted for name, fitted in store.read_json(CUTOFFS).items()}
    fitted = {a.name: FittedCutoff.model_validate(cutoffs[a.name]) for a in choice.approaches if a.name in cutoffs}
    return choice.model_copy(update={"fitted": fitted})


def quick_shortlist(store: Store, domain: Domain) -> Shortlist:
    """Let BM25 alone propose candidates, without any benchmark, or return the kept choice.

    It proposes as many candidates as two approaches would together.

    Raises:
        InputError: when the run's shortlist was chosen from a benchmark.
    """
    if not is_done(store, STAGE, SHORTLIST, QUICK):
        pool = domain.settings.pool
        first = Approach(kind=ApproachKind.RETRIEVER, retriever="bm25", cutoff=max(1, pool.first + pool.second))
        skipped = "A quick start: no pairs were generated and no approach was benchmarked."
        why = f"{first.name} alone proposes candidates, because it needs no LLM, no training and no model."
        store.write_record(SHORTLIST, Shortlist(first=first, reasons=(skipped, why)))
    return store.read_record(SHORTLIST, Shortlist)


def is_quick(manifest: Mapping[str, Any]) -> bool:
    """Tell from a run's manifest whether it skipped generation and benchmark."""
    return bool(manifest.get("inputs", {}).get(STAGE) == QUICK)


def refuse_quick(store: Store) -> None:
    """Raise ``InputError`` for a run that skipped generation and benchmark, before anything is paid for."""
    if is_quick(store.manifest):
        msg = f"run {store.key!r} is a quick start, which skipped generation and benchmark"
        raise InputError(msg, "use another run key for the whole job, or start this one with --quick again")
