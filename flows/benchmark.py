"""Flows benchmark and shortlist: which approaches find the links of the synthetic corpus best."""

from __future__ import annotations

from prefect import flow

from abcdlink.domain import domain_of
from abcdlink.evaluation.shortlist import Shortlist, ShortlistRule
from abcdlink.stages.benchmark import Benchmark, run_benchmark
from abcdlink.stages.shortlist import run_shortlist
from abcdlink.store import open_run
from flows.execution import AS_TASKS
from flows.llm_batch import waiting_for_answers
from flows.parameters import BenchmarkParameters, RunKey
from flows.ui.artifacts import show_benchmark, show_shortlist
from flows.ui.what_now import NOTED


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
