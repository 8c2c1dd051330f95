"""Flows of single stages: generate, validate, benchmark, shortlist, candidates, and label."""

from __future__ import annotations

from typing import Annotated

from prefect import flow
from pydantic import Field

from abcdlink.domain import Setting, domain_of, find_domain, in_setting
from abcdlink.evaluation.shortlist import Shortlist, ShortlistRule
from abcdlink.labels.parts import LabelSampling
from abcdlink.labels.records import Labels
from abcdlink.layout import safe
from abcdlink.stages.benchmark import Benchmark, run_benchmark
from abcdlink.stages.benchmark_corpora import Overview, run_benchmarks, take_corpora
from abcdlink.stages.candidates import PoolCounts, PoolPlan, run_candidates
from abcdlink.stages.generate import (
    Generating,
    Generation,
    plan_generation,
    refuse_to_generate,
    run_generation,
    run_validation,
)
from abcdlink.stages.intake import take_corpus, take_targets
from abcdlink.stages.label import plan_labels
from abcdlink.stages.shortlist import run_shortlist
from abcdlink.store import existing_run, open_run
from abcdlink.validation import Validation
from flows.artifacts import (
    show_benchmark,
    show_candidates,
    show_generation,
    show_overview,
    show_shortlist,
    show_validation,
)
from flows.parameters import BenchmarkParameters, FirstPairs, LabelParameters, RunKey, TargetParameters
from flows.waiting import NOTED, waiting_for_answers
from tasks.execution import AS_TASKS, forget, label_part, run_parts
from tasks.running import key, prefect_progress, table, task_runner


@flow(name="generate", flow_run_name="generate {run}", **NOTED)
def generate(
    run: RunKey,
    domain: str = "news",
    corpus: str = "sample",
    pairs: FirstPairs = None,
    targets: TargetParameters = TargetParameters(),
    generation: Generating = Generating(),
) -> Generation:
    """Copy natural pairs, or documents alone, into the run and write a synthetic source document for each target.

    Args:
        run: run key, the name of this whole job; the same key continues it.
        domain: name or path of a domain, e.g. news or reviews.
        corpus: folder of a corpus as `abcdlink import` writes it; `sample` is the domain's shipped sample;
            empty: no natural pairs, if targets are given.
        pairs: use only the first N natural pairs; empty: all.
        targets: documents to generate for, if not those of the natural pairs.
        generation: how the synthetic corpus is written.
    """
    store, chosen = open_run(run), find_domain(domain)
    refuse_to_generate(generation)
    if corpus or not targets.folder:
        AS_TASKS.step(f"take corpus {corpus}", take_corpus, store, corpus or "sample", chosen, pairs)
    if targets.folder:
        AS_TASKS.step(f"take targets {targets.folder}", take_targets, store, targets.folder, chosen, targets)
    plan = plan_generation(store, generation)
    result = run_generation(store, chosen, plan, AS_TASKS)
    show_generation(run, result)
    return result


@flow(name="validate", flow_run_name="validate {run}", **NOTED)
def validate(run: RunKey, domain: str = "", beside: list[str] = []) -> Validation:  # noqa: B006 - Prefect copies it
    """Compare the synthetic corpus of a run with its natural one.

    Args:
        run: run key, the name of this whole job; the same key continues it.
        domain: name or path of the domain; empty: the one that the run was started with.
        beside: folders of further corpora to compare.
    """
    store = open_run(run)
    result = AS_TASKS.step("validate", run_validation, store, domain_of(store, domain), beside)
    show_validation(run, result)
    return result


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
        run: run key, the name of this whole job; the same key continues it.
        domain: name or path of the domain; empty: the one that the run was started with.
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
        run: run key, under which everything is stored; the same key continues it.
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
        run: run key, the name of this whole job; the same key continues it.
        shortlist: how they are chosen.
    """
    result = AS_TASKS.step("shortlist", run_shortlist, open_run(run), shortlist)
    show_shortlist(run, result)
    return result


@flow(name="candidates", flow_run_name="candidates {run}", **NOTED)
def candidates(
    run: RunKey,
    domain: str = "",
    pools: PoolPlan = PoolPlan(),
) -> PoolCounts:
    """Build the pools that annotators will see, batch by batch.

    Args:
        run: run key, the name of this whole job; the same key continues it.
        domain: name or path of the domain; empty: the one that the run was started with.
        pools: which candidates annotators see.
    """
    store = open_run(run)
    with waiting_for_answers():
        counts = run_candidates(store, domain_of(store, domain), pools, AS_TASKS)
    show_candidates(run, counts)
    return counts


@flow(name="label", flow_run_name="label {corpus} by {run}")
def label(
    run: RunKey, corpus: Annotated[str, Field(min_length=1)], labels: LabelParameters = LabelParameters()
) -> Labels:
    """Label a corpus of any size; run again, it does only the missing parts.

    Args:
        run: run key of a run with a learned linker.
        corpus: folder of the corpus or s3:// prefix, as `abcdlink import` writes it.
        labels: how to label it.
    """
    store = existing_run(run)
    name = labels.name or safe(corpus.rstrip("/").rpartition("/")[2])
    sampling = LabelSampling(floor=labels.floor)
    planned = AS_TASKS.step("plan labels", plan_labels, store, corpus, name, labels.linker, sampling)
    parts = [{"run": run, "labels": name, "part": part} for part in planned.open_parts]
    with task_runner() as runner:
        for _ in prefect_progress(run_parts(runner, label_part, parts), f"label {name}", len(parts)):
            pass
    forget()
    result = AS_TASKS.step("add up labels", planned.summary, labels.precision)
    table(key(run, "labels", name), [{"what": what, "count": count} for what, count in result.counted], result.text)
    return result
