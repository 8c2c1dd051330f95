"""Flow reconcile: a short, scheduled look that brings waiting and dead runs on."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from prefect import flow, get_run_logger
from prefect.artifacts import create_progress_artifact
from prefect.client.schemas import FlowRun
from pydantic import Field

from abcdlink.errors import AbcdlinkError
from abcdlink.store import open_run
from flows.artifacts import key
from flows.asking import batch_in_words, batch_waited_for
from flows.people import check_earlier, look_after
from flows.standing import show_progress
from tasks.approaches import look_at_batch
from tasks.projects import look
from tasks.runs import is_dead, may_start_again, reschedule, resume, runs_in_state
from tasks.waiting import WaitsFor, waiting_of

WAITING_FLOWS = ["annotate", "qualify", "rate", "exhaustive", "adjudicate"]
"""Flows whose runs wait for people."""
ASKING_FLOWS = ["bootstrap", "benchmark", "candidates"]
"""Flows whose runs wait for an LLM that is asked by batch."""
SUSPENDING = [*WAITING_FLOWS, *ASKING_FLOWS]
LONG_FLOWS = [*SUSPENDING, "generate"]
"""Flows whose runs are started again when their process died; all of them go on where they were."""


@flow(name="reconcile")
def reconcile(stale_seconds: Annotated[int, Field(ge=1)] = 150) -> None:
    """Resume the runs whose annotators or LLM are done, and reschedule the runs whose process died.

    On the way it shows on their pages who did how much, reminds of deadlines, and sees answers that were changed later.

    Args:
        stale_seconds: a running flow that gave no sign of life for so long is started again; it gives one every
            30 seconds.
    """
    logger = get_run_logger()
    suspended = ((name, flow_run) for name in SUSPENDING for flow_run in runs_in_state("Suspended", [name]))
    for name, flow_run in suspended:
        try:
            resume_if_complete(name, flow_run)
        except AbcdlinkError as error:  # one broken run must not keep the others waiting
            logger.error("Run %s: %s", flow_run.name, error)  # noqa: TRY400 - a clear message needs no traceback
    stale = timedelta(seconds=stale_seconds)
    dead = [flow_run for flow_run in runs_in_state("Running", LONG_FLOWS) if is_dead(flow_run, stale)]
    for flow_run in [*dead, *runs_in_state("Crashed", LONG_FLOWS)]:
        # A subflow has no deployment: it is started again by the run that it belongs to.
        if flow_run.deployment_id is not None and may_start_again(flow_run):
            logger.warning("The process of run %s is gone: it is started again.", flow_run.name)
            reschedule(flow_run)


def resume_if_complete(name: str, flow_run: FlowRun) -> None:
    """Look at what a suspended run of a flow waits for, and resume the run when that is complete."""
    run = str(flow_run.parameters["run"])
    if corpus := batch_waited_for(flow_run):
        resume_if_answered(flow_run, run, corpus)
        return
    store = open_run(run)
    waiting = waiting_of(store, name)
    if waiting is None or waiting.kind is not WaitsFor.ANNOTATORS or waiting.flow_run != str(flow_run.id):
        return
    progress = look(run, waiting.slug)
    told = f"{progress.done} of {progress.tasks} tasks done"
    percent = 100.0 * progress.done / max(progress.tasks, 1)
    show_progress(store, waiting.flow_run, waiting.slug, percent, f"Run {run}, {waiting.slug}: {told}")
    look_after(store, waiting, told)
    check_earlier(store)
    if progress.complete:
        get_run_logger().info("Run %s: %s is complete: the run goes on.", run, waiting.slug)
        resume(flow_run.id)


def resume_if_answered(flow_run: FlowRun, run: str, corpus: str) -> None:
    """Look at the batch by which an LLM was asked, and resume the run when it is over, whatever came of it."""
    state = look_at_batch(run, corpus)
    over = state.answered + state.open
    create_progress_artifact(
        key=key(run, "llm", corpus, "progress"),
        progress=100.0 * over / max(over + state.waiting, 1),
        description=f"Run {run}, LLM batch on the {corpus} pairs: {batch_in_words(state)}",
    )
    if state.done:
        get_run_logger().info("Run %s: the LLM batch on the %s pairs is over: the run goes on.", run, corpus)
        resume(flow_run.id)
