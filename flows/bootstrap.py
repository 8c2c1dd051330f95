"""Flows start and bootstrap: the whole job, from a natural corpus to batches for annotators."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Annotated, Any

from prefect import flow, get_run_logger
from prefect.artifacts import create_link_artifact
from prefect.settings import PREFECT_UI_URL
from pydantic import BeforeValidator, Field

from abcdlink.candidates.pools import PoolMode
from abcdlink.corpus.records import Record
from abcdlink.domain import Setting, find_domain, in_setting
from abcdlink.evaluation.shortlist import ShortlistRule
from abcdlink.linking.records import ApproachKind
from abcdlink.llm.profiles import linkers, profile
from abcdlink.settings import get_settings
from abcdlink.stages.candidates import overlap_of
from abcdlink.stages.generate import Generating
from abcdlink.stages.whole import WholeJob, up_to_candidates
from abcdlink.store import open_run
from flows import artifacts
from flows.commands.starting import Goal
from flows.parameters import (
    AnnotationParameters,
    BenchmarkParameters,
    FirstPairs,
    LLMParameters,
    RunKey,
    TargetParameters,
    whole_job,
)
from flows.waiting import NOTED, waiting_for_answers
from tasks.execution import AS_TASKS
from tasks.running import key
from tasks.runs import start_once

ANNOTATE = "annotate/annotate"

SHOWS: dict[str, Callable[[str, Any], None]] = {
    "generate": artifacts.show_generation,
    "validate": artifacts.show_validation,
    "benchmark": artifacts.show_benchmark,
    "shortlist": artifacts.show_shortlist,
    "candidates": artifacts.show_candidates,
}
"""Stage -> function that shows its result on the run page."""


@flow(name="start", flow_run_name="start {run}", **NOTED)
def start(
    run: RunKey,
    corpus: Annotated[str, Field(min_length=1)],
    domain: str = "news",
    annotators: Annotated[int, Field(ge=1, le=10)] = 2,
    goal: Goal = Goal.COMPARE,
    budget: Annotated[float, BeforeValidator(lambda given: given or 0.0), Field(ge=0)] = 0.0,
) -> None:
    """Start or continue a job: from your documents to batches for annotators.

    The same as `bootstrap`, with fewer questions.

    Args:
        run: Name of this job: up to 80 letters, digits, '.', '_' and '-', starting with a letter or digit.
        corpus: Folder of your documents as `abcdlink import` writes it; `sample`: the domain's invented documents.
        domain: What a link means: news, reviews, or a domain that you created with `abcdlink init`.
        annotators: How many people judge each candidate.
        goal: Compare methods: which of two approaches is better, with random candidates between them. Find links:
            all that either approach proposes (two retrievers, where only the embedded LLM is there). Quick try: BM25
            alone proposes, one batch, no LLM is asked.
        budget: Most that this run may spend on the LLM, in the currency of the prices that are set; 0: as set.
    """
    if budget:  # in this process, which only serves this run, and its children
        os.environ["ABCDLINK_LLM_BUDGET"] = str(budget)
        get_settings.cache_clear()
    job, annotation = job_for(goal, corpus, annotators)
    do_whole_job(run, domain, job, annotation)


def job_for(goal: Goal, corpus: str, annotators: int) -> tuple[WholeJob, AnnotationParameters]:
    """Return the settings of a goal. For finding links, the embedded LLM is left out: its decisions are at chance."""
    batches = 1 if goal is Goal.TRY else 2
    mode = PoolMode.UNION if goal is Goal.FIND else PoolMode.COMPARISON
    annotation = AnnotationParameters(batches=batches, overlap=annotators, mode=mode)
    if goal is Goal.FIND and all(profile(name).llm_is_embedded for name in linkers()):
        benchmark = BenchmarkParameters(llm=LLMParameters(use=False))
        two = ShortlistRule(kinds=(ApproachKind.RETRIEVER, ApproachKind.RETRIEVER))
        return whole_job(corpus, None, benchmark=benchmark, shortlist=two, annotation=annotation), annotation
    return whole_job(corpus, None, annotation=annotation, quick=goal is Goal.TRY), annotation


@flow(name="bootstrap", flow_run_name="bootstrap {run}", **NOTED)
def bootstrap(
    run: RunKey,
    domain: str = "news",
    setting: Setting | None = None,
    corpus: str = "sample",
    pairs: FirstPairs = None,
    targets: TargetParameters = TargetParameters(),
    generation: Generating = Generating(),
    benchmark: BenchmarkParameters = BenchmarkParameters(),
    shortlist: ShortlistRule = ShortlistRule(),
    annotation: AnnotationParameters = AnnotationParameters(),
    quick: bool = False,
) -> None:
    """For experts: the whole job with every setting. Generate, benchmark, shortlist, build pools, start annotate.

    Annotation is a run of its own: only a top-level run can be suspended while people work, and a
    suspended run goes through its steps from the start when it is resumed.

    Args:
        run: run key, the name of this whole job; the same key continues it.
        domain: name or path of a domain, e.g. news or reviews.
        setting: paper: prompts and numbers as in the paper; empty: as the domain says.
        corpus: folder of a corpus as `abcdlink import` writes it; `sample` is the domain's shipped sample.
        pairs: use only the first N natural pairs; empty: all.
        targets: documents to generate for, if not those of the natural pairs.
        generation: how the synthetic corpus is written.
        benchmark: which approaches are compared.
        shortlist: how the two that propose candidates are chosen.
        annotation: which candidates annotators see, and how they annotate them.
        quick: skip generation and benchmark and use no LLM; BM25 alone proposes candidates, to try the page.
    """
    job = whole_job(corpus, pairs, targets, generation, benchmark, shortlist, annotation, quick)
    do_whole_job(run, in_setting(domain, setting), job, annotation)


def do_whole_job(run: str, domain: str, job: WholeJob, annotation: AnnotationParameters) -> None:
    """Do all stages up to the candidates as part of this run, then start the flow annotate.

    While an LLM batch is pending, the run is suspended; when it resumes, it goes through the stages from the start.
    """

    def show(stage: str, result: Record) -> None:
        SHOWS[stage](run, result)

    store, chosen = open_run(run), find_domain(domain)
    overlap_of(store, chosen, annotation.overlap)
    with waiting_for_answers():
        up_to_candidates(store, chosen, job, AS_TASKS, show)
    start_annotation(run, domain, annotation)


def start_annotation(run: str, domain: str, annotation: AnnotationParameters) -> None:
    """Start the flow annotate once for this run key and link to it."""
    parameters = {"run": run, "domain": domain, "annotation": annotation.people()}
    started = start_once(ANNOTATE, parameters, f"annotate-{run}")
    link = f"{PREFECT_UI_URL.value()}/runs/flow-run/{started.id}"
    create_link_artifact(key=key(run, "annotate"), link=link, link_text=f"Annotation of {run}")
    get_run_logger().info("The annotation of %s continues in its own run: %s", run, link)
