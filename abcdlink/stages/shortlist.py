"""Stage shortlist: the two approaches that propose candidates, with the reasons in words."""

from __future__ import annotations

from abcdlink.corpus.io import read_corpus_from
from abcdlink.evaluation.cutoff_choice import Lengths, mean_target_sentences
from abcdlink.evaluation.shortlist import Shortlist, ShortlistRule, shortlist
from abcdlink.layout import NATURAL, SCORES, SHORTLIST, SYNTHETIC
from abcdlink.stages.benchmark import read_benchmark
from abcdlink.store import Store


def run_shortlist(store: Store) -> Shortlist:
    """Choose among the approaches of the benchmark, or return the kept choice."""
    if not store.exists(SHORTLIST):
        results = read_benchmark(store).approaches
        benchmark, annotated = (mean_target_sentences(read_corpus_from(store, name)) for name in (SYNTHETIC, NATURAL))
        lengths = Lengths(benchmark=benchmark, annotated=annotated)
        choice = shortlist(results, store.read_table(SCORES), ShortlistRule(), lengths)
        store.write_text(SHORTLIST, choice.model_dump_json(indent=2))
    return Shortlist.model_validate_json(store.read_text(SHORTLIST))
