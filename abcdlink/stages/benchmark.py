"""Stage benchmark: retrievers, and retriever + LLM, scored on the synthetic corpus."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pydantic import Field

from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Corpus, Record
from abcdlink.evaluation.shortlist import ApproachResult
from abcdlink.layout import BENCHMARK, rankings_file
from abcdlink.linking.records import Approach, ApproachKind
from abcdlink.linking.top_k import decide_top_k
from abcdlink.llm.records import Usage
from abcdlink.progress import Progress, silent
from abcdlink.stages.once import is_done
from abcdlink.store import Store

if TYPE_CHECKING:
    import pandas as pd

STAGE = "benchmark"
PAPER_CUTOFFS = (1, 3, 5, 7, 10, 20)


class BenchmarkPlan(Record):
    """Which approaches are compared.

    ``llm_retrievers``: retrievers whose top candidates an LLM decides on; empty: the one with the
    best F1. ``use_llm`` off compares retrievers only.
    """

    retrievers: tuple[str, ...] = Field(("bm25", "all-minilm-l6-v2", "hybrid"), min_length=1)
    cutoffs: tuple[int, ...] = Field(PAPER_CUTOFFS, min_length=1)
    use_llm: bool = True
    llm_retrievers: tuple[str, ...] = ()
    prompt_mode: int = Field(4, ge=1, le=4)


class Benchmark(Record):
    """The outcome of the stage, as kept in ``benchmark.json``."""

    pairs: int
    sources: int
    cutoffs: tuple[int, ...]
    approaches: tuple[ApproachResult, ...]
    usage: dict[str, Usage]

    def of_kind(self, kind: ApproachKind) -> list[ApproachResult]:
        """Return the results of one kind, best mean F1 first."""
        chosen = [result for result in self.approaches if result.approach.kind is kind]
        return sorted(chosen, key=lambda result: -result.f1)


def benchmark_done(store: Store, plan: BenchmarkPlan) -> bool:
    """Tell whether the run already holds what the plan asks for."""
    return is_done(store, STAGE, BENCHMARK, plan.model_dump(mode="json"))


def rank(store: Store, corpus_name: str, retriever: str, progress: Progress = silent) -> None:
    """Rank all target sentences for all source sentences of a corpus of the run, unless it is done."""
    from abcdlink.retrieval.base import rank_corpus
    from abcdlink.retrieval.registry import get_retriever

    name = rankings_file(corpus_name, retriever)
    if store.exists(name):
        return
    started = time.perf_counter()
    rankings = rank_corpus(read_corpus_from(store, corpus_name), get_retriever(retriever), progress)
    rankings.attrs["seconds"] = time.perf_counter() - started
    store.write_table(name, rankings)


def score_retriever(
    corpus: Corpus, rankings: pd.DataFrame, retriever: str, cutoffs: tuple[int, ...]
) -> tuple[list[ApproachResult], pd.DataFrame]:
    """Score one retriever at every cutoff: results, and the per-source table."""
    seconds = float(rankings.attrs.get("seconds", 0.0))
    approaches = [Approach(kind=ApproachKind.RETRIEVER, retriever=retriever, cutoff=k) for k in cutoffs]
    scored = [score_approach(corpus, approach, decide_top_k(approach, rankings), seconds) for approach in approaches]
    return [result for result, _ in scored], _stacked([table for _, table in scored])
