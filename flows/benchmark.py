"""Flows benchmark and shortlist: which approaches find the links of the synthetic corpus best."""

from __future__ import annotations

from typing import Annotated

from prefect import flow
from pydantic import Field

from abcdlink.domain import Setting, domain_of, in_setting
from abcdlink.evaluation.shortlist import Shortlist, ShortlistRule
from abcdlink.stages.benchmark import Benchmark, run_benchmark
from abcdlink.stages.benchmark_corpora import Overview, run_benchmarks, take_corpora
from abcdlink.stages.shortlist import run_shortlist
from abcdlink.store import open_run
from flows.execution import AS_TASKS
from flows.llm_batch import waiting_for_answers
from flows.parameters import BenchmarkParameters, FirstPairs, RunKey
from flows.ui.artifacts import show_benchmark, show_overview, show_shortlist
from flows.ui.what_now import NOTED

Corpora = Annotated[tuple[str, ...], Field(min_length=1)]
Domains = Annotated[tuple[str, ...], Field(min_length=1)]


@flow(name="benchmark", flow_run_name="benchmark {run}", **NOTED)
def benchmark(
    run: RunKey,
    domain: str = "",
    benchmark: BenchmarkParameters = BenchmarkParameters(),
) -> Benchmark:
    """Score retrievers, learned linkers and LLMs on the synthetic corpus of a run.

    Args:
        run: run key, the name of this whole bootstrap; the same key goes on with what is there.
        domain: name or path of the domain; empty: the one that the run was begun with.
        benchmark: which approaches are compared.
    """
    store = open_run(run)
    with waiting_for_answers():
        result = run_benchmark(store, domain_of(store, domain), benchmark.plan(), AS_TASKS)
    show_benchmark(run, result)
    return result


@flow(name="benchmark-corpora", flow_run_name="benchmark corpora {run}")
def benchmark_corpora(
    run: RunKey,
    corpora: Corpora,
    domains: Domains = ("news",),
    setting: Setting | None = None,
    pairs: FirstPairs = None,
    benchmark: BenchmarkParameters = BenchmarkParameters(),
) -> Overview:
    """Score retrievers, learned linkers and LLMs on any corpora with gold links, several of them side by side.

    Args:
        run: run key, under which everything is kept; the same key goes on with what is there.
        corpora: folders of corpora with gold links, as `abcdlink import` writes them.
        domains: name or path of the domain of all corpora, or one for each of them.
        setting: paper: prompts and numbers as in the paper; empty: as the domains say.
        pairs: use only the first N pairs of each corpus; empty: all.
        benchmark: which approaches are compared.
    """
    store, plan = open_run(run), benchmark.plan()
    references = [in_setting(domain, setting) for domain in domains]
    taken = AS_TASKS.step("take corpora", take_corpora, store, list(corpora), references, plan, pairs)
    with waiting_for_answers():
        overview = run_benchmarks(store, taken, plan, AS_TASKS)
    show_overview(run, overview)
    return overview


@flow(name="shortlist", flow_run_name="shortlist {run}", **NOTED)
def shortlist(run: RunKey, shortlist: ShortlistRule = ShortlistRule()) -> Shortlist:
    """Choose the approaches that propose candidates to the annotators.

    Args:
        run: run key, the name of this whole bootstrap; the same key goes on with what is there.
        shortlist: how they are chosen.
    """
    result = AS_TASKS.step("shortlist", run_shortlist, open_run(run), shortlist)
    show_shortlist(run, result)
    return result
