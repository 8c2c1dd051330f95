"""Flows benchmark and shortlist: which approaches find the links of the synthetic corpus best."""

from __future__ import annotations

from prefect import flow

from abcdlink.evaluation.shortlist import Shortlist
from abcdlink.layout import SYNTHETIC
from abcdlink.stages.benchmark import Benchmark, benchmark_done, learned_linkers, read_benchmark
from abcdlink.store import open_run
from flows.asking import wait_for_answers
from flows.parameters import BenchmarkParameters, RunKey, ShortlistParameters, run_domain
from flows.parts import decide, rank
from flows.ui.artifacts import show_benchmark, show_shortlist
from tasks.approaches import choose_llm_approaches, choose_shortlist, learn, score


@flow(name="benchmark", flow_run_name="benchmark {run}")
def benchmark(
    run: RunKey,
    domain: str = "",
    benchmark: BenchmarkParameters = BenchmarkParameters(),
) -> Benchmark | None:
    """Score retrievers, learned linkers and LLMs on the synthetic corpus of a run.

    Returns nothing when it is a part of a run that has to wait for the LLM (see ``flows.asking``).

    Args:
        run: run key, the name of this whole bootstrap; the same key goes on with what is there.
        domain: name or path of the domain; empty: the one that the run was begun with.
        benchmark: which approaches are compared.
    """
    store, plan = open_run(run), benchmark.plan()
    domain = run_domain(store, domain)
    store.require(f"{SYNTHETIC}/pairs.jsonl", "generate")
    if benchmark_done(store, plan):
        result = read_benchmark(store)
    else:
        rank(run, SYNTHETIC, plan.all_retrievers)
        for name in learned_linkers(store, plan):
            learn(run, name, plan.folds)
        llm_approaches = choose_llm_approaches(run, domain, plan)
        if not decide(run, SYNTHETIC, domain, llm_approaches):
            wait_for_answers(SYNTHETIC)
            return None
        result = score(run, plan, llm_approaches)
    show_benchmark(run, result)
    return result


@flow(name="shortlist", flow_run_name="shortlist {run}")
def shortlist(run: RunKey, shortlist: ShortlistParameters = ShortlistParameters()) -> Shortlist:
    """Choose the approaches that propose candidates to the annotators.

    Args:
        run: run key, the name of this whole bootstrap; the same key goes on with what is there.
        shortlist: how they are chosen.
    """
    result = choose_shortlist(run, shortlist.rule())
    show_shortlist(run, result)
    return result
