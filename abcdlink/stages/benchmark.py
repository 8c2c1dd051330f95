"""Stage benchmark: retrievers, and retriever + LLM, scored on the synthetic corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Corpus, Record
from abcdlink.domain import Domain
from abcdlink.evaluation.results import ApproachResult, count_outcomes
from abcdlink.evaluation.scores import (
    PAPER_CUTOFFS,
    all_sources,
    all_sources_by_cutoff,
    macro,
    macro_by_cutoff,
    score_decisions,
    score_ranking,
)
from abcdlink.layout import BENCHMARK, SCORES, SYNTHETIC
from abcdlink.linking.records import Approach, ApproachKind
from abcdlink.llm.records import Usage
from abcdlink.progress import Progress, silent
from abcdlink.stages.decide import decide_part, part_count, read_decisions
from abcdlink.stages.once import is_done
from abcdlink.stages.rank import rank, read_rankings
from abcdlink.store import Store

if TYPE_CHECKING:
    import pandas as pd

STAGE = "benchmark"


class BenchmarkPlan(Record):
    """Which approaches are compared.

    ``llm_retrievers``: retrievers whose top candidates an LLM decides on; empty: the one with the
    best F1.
    """

    retrievers: tuple[str, ...] = Field(("bm25", "all-minilm-l6-v2", "hybrid"), min_length=1)
    cutoffs: tuple[int, ...] = Field(PAPER_CUTOFFS, min_length=1)
    llm_retrievers: tuple[str, ...] = ()
    prompt_mode: int = Field(4, ge=1, le=4)


class Benchmark(Record):
    """The outcome of the stage, as kept in ``benchmark.json``."""

    pairs: int
    sources: int
    cutoffs: tuple[int, ...]
    approaches: tuple[ApproachResult, ...]
    usage: dict[str, Usage]


def benchmark_done(store: Store, plan: BenchmarkPlan) -> bool:
    """Tell whether the run already holds what the plan asks for."""
    return is_done(store, STAGE, BENCHMARK, plan.model_dump(mode="json"))


def read_benchmark(store: Store) -> Benchmark:
    """Return the kept result; ``InputError`` when there is none yet."""
    store.require(BENCHMARK, STAGE)
    return Benchmark.model_validate_json(store.read_text(BENCHMARK))


def llm_approaches(store: Store, domain: Domain, plan: BenchmarkPlan) -> list[Approach]:
    """Return the retriever + LLM approaches of a plan; the rankings of its retrievers must be there."""
    retrievers = plan.llm_retrievers or (_best_retriever(store, plan),)
    cutoff = domain.settings.llm_candidates
    return [
        Approach(kind=ApproachKind.LLM, retriever=retriever, cutoff=cutoff, prompt_mode=plan.prompt_mode)
        for retriever in retrievers
    ]


def _best_retriever(store: Store, plan: BenchmarkPlan) -> str:
    corpus = read_corpus_from(store, SYNTHETIC)
    results = [result for name in plan.retrievers for result in _score_retriever(store, corpus, name, plan)[0]]
    return max(results, key=lambda result: result.f1).approach.retriever


def finish_benchmark(store: Store, plan: BenchmarkPlan, with_llm: list[Approach]) -> Benchmark:
    """Score all approaches of a plan and keep the results; rankings and decisions must be there."""
    import pandas as pd

    corpus = read_corpus_from(store, SYNTHETIC)
    results: list[ApproachResult] = []
    tables: list[pd.DataFrame] = []
    usage: dict[str, Usage] = {}
    for retriever in plan.retrievers:
        scored, frames = _score_retriever(store, corpus, retriever, plan)
        results += scored
        tables += frames
    for approach in with_llm:
        part = read_decisions(store, SYNTHETIC, approach)
        table = score_decisions(corpus, part.decisions)
        usage[approach.name] = part.usage
        result = ApproachResult(
            approach=approach,
            **macro(table).model_dump(),
            all_sources=all_sources(corpus, part.decisions),
            seconds=part.usage.seconds,
            pairs=len(corpus.pairs),
            outcomes=count_outcomes(part.decisions),
            prompt_hash=part.prompt_hash,
        )
        results.append(result)
        tables.append(_named(table, approach))
    store.write_table(SCORES, pd.concat(tables, ignore_index=True))
    benchmark = Benchmark(
        pairs=len(corpus.pairs),
        sources=corpus.source_count,
        cutoffs=plan.cutoffs,
        approaches=tuple(results),
        usage=usage,
    )
    store.write_text(BENCHMARK, benchmark.model_dump_json(indent=2))
    return benchmark


def _score_retriever(
    store: Store, corpus: Corpus, retriever: str, plan: BenchmarkPlan
) -> tuple[list[ApproachResult], list[pd.DataFrame]]:
    """Score one retriever at every cutoff: results, and a per-source table for each."""
    rankings, effort = read_rankings(store, SYNTHETIC, retriever)
    frame = score_ranking(corpus, rankings, plan.cutoffs)
    over_all_sources = all_sources_by_cutoff(corpus, rankings, plan.cutoffs)
    results, tables = [], []
    for cutoff, scores in macro_by_cutoff(frame).items():
        approach = Approach(kind=ApproachKind.RETRIEVER, retriever=retriever, cutoff=cutoff)
        result = ApproachResult(
            approach=approach,
            **scores.model_dump(),
            all_sources=over_all_sources[cutoff],
            seconds=effort.cost,
            pairs=len(corpus.pairs),
            cut=effort.cut,
        )
        results.append(result)
        tables.append(_named(frame[frame["cutoff"] == cutoff], approach))
    return results, tables


def _named(table: pd.DataFrame, approach: Approach) -> pd.DataFrame:
    """Put the approach before the per-source scores; retrievers answer every source."""
    columns = ["approach", "kind", "cutoff", "pair", "source", "precision", "recall", "f1", "answered"]
    answered = table.get("answered", True)
    named = table.assign(approach=approach.name, kind=approach.kind.value, cutoff=approach.cutoff, answered=answered)
    return named[columns]


def run_benchmark(store: Store, domain: Domain, plan: BenchmarkPlan, progress: Progress = silent) -> Benchmark:
    """Run the whole stage, or return its kept result."""
    store.require(f"{SYNTHETIC}/pairs.jsonl", "generate")
    if benchmark_done(store, plan):
        return read_benchmark(store)
    for retriever in plan.retrievers:
        rank(store, SYNTHETIC, retriever, progress)
    approaches = llm_approaches(store, domain, plan)
    for approach in approaches:
        for part in range(part_count(store, SYNTHETIC)):
            decide_part(store, SYNTHETIC, domain, approach, part, progress)
    return finish_benchmark(store, plan, approaches)
