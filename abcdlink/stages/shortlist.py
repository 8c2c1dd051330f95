"""Stage shortlist: the two approaches that propose candidates, with the reasons in words."""

from __future__ import annotations

from abcdlink.evaluation.shortlist import Shortlist, shortlist
from abcdlink.layout import SHORTLIST
from abcdlink.stages.benchmark import read_benchmark
from abcdlink.store import Store


def run_shortlist(store: Store) -> Shortlist:
    """Choose among the approaches of the benchmark, or return the kept choice."""
    if not store.exists(SHORTLIST):
        choice = shortlist(read_benchmark(store).approaches)
        store.write_text(SHORTLIST, choice.model_dump_json(indent=2))
    return Shortlist.model_validate_json(store.read_text(SHORTLIST))
