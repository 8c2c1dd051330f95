"""Flow reconcile: resumes runs whose people or LLM are done, and restarts dead runs.

The watcher does this all the time; the scheduled flow is a safety net. It takes no lock that a dead process could
hold, and two of them at once do no harm: Prefect accepts only one of two attempts to resume a run.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Annotated

from prefect import State, flow, get_run_logger
from prefect.artifacts import ProgressArtifact
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas import FlowRun
from prefect.logging.loggers import flow_run_logger
from prefect.states import Completed
from pydantic import Field

from abcdlink.errors import InputError
from abcdlink.layout import batch_file, project_file
from abcdlink.locks import FLOW, is_abandoned
from abcdlink.settings import get_settings
from abcdlink.stages.annotate import pulled_of
from abcdlink.stages.execution import look_at_batch
from abcdlink.store import MANIFEST, Store, open_run
from abcdlink.waiting import Waiting, WaitsFor, all_waiting, wait_for, waiting_of
from flows.waiting import batch_waited_for, in_words, show_live, show_progress, show_rows, show_what_now
from labelstudio_config.attendance import SCHEDULE, attendance, reminder_due, schedule_of, send_reminder
from labelstudio_config.batches import batches_pushed, check
from labelstudio_config.run import known_so_far, read_pushed
from services import SILENT_SECONDS, read_heartbeat
from tasks.blocks import notify_by
from tasks.execution import batch_in_words
from tasks.projects import Loggers, look_at_people
from tasks.running import key
from tasks.runs import MOST_RESTARTS, flow_name, forget, is_dead, may_start_again, reschedule, resume, runs_in_states

if TYPE_CHECKING:
    from flows.watcher import WorthALook

WAITING_FLOWS = ["annotate", "qualify", "rate", "exhaustive", "adjudicate", "coding", "boundaries"]
"""Flows whose runs wait for people."""
LLM_FLOWS = ["start", "bootstrap", "benchmark", "candidates"]
"""Flows whose runs wait for an LLM batch."""
FLOWS_OF_RUNS = [*WAITING_FLOWS, *LLM_FLOWS, "generate", "validate", "shortlist"]
"""Flows whose runs are restarted when their process has died; they all resume where they were."""
UNDER_WAY = ["Pending", "Submitting", "Running"]
"""States of a run that has a process or is about to get one; a killed worker leaves its runs in them."""
SIGN_SECONDS = 45.0
"""Seconds without a heartbeat after which a run counts as dead; a living run sends one every 30 seconds."""
OVER = ["Failed", "Cancelled"]
TOO_OFTEN = f"Its process died {MOST_RESTARTS} times within a day, so it is left alone until tomorrow."
NOTHING = "Nothing to do."
"""Message of the final state of a run of ``reconcile`` that changed nothing."""


@dataclass
class ReconcileResult:
    """The result of looking at all runs: what was done, and run name -> what went wrong with this run."""

    waiting: int = 0
    done: list[str] = field(default_factory=list)
    faults: dict[str, str] = field(default_factory=dict)


@flow(name="reconcile")
def reconcile(stale_seconds: Annotated[int, Field(ge=1)] = 150) -> State[None]:
    """Resume runs whose annotators or LLM are done, and restart runs whose process died.

    It also updates progress on run pages, sends reminders of deadlines, and notices answers that were changed later.

    Args:
        stale_seconds: a running flow without a heartbeat for this long is restarted; flows send one every
            30 seconds.
    """
    with get_client(sync_client=True) as client:
        forget(client, "reconcile", NOTHING)
        found = look_at_all(client, timedelta(seconds=stale_seconds), awake=awake_since())
    for name, fault in found.faults.items():
        get_run_logger().error("Run %s: %s", name, fault)
    return Completed(message=" ".join(found.done) or NOTHING)


def awake_since() -> datetime | None:
    """Return since when the machine has been awake, if the watcher saw it sleep.

    If the watcher has been silent for long, it is gone or the machine has just woken up: living runs get the time
    to send a heartbeat.
    """
    home = get_settings().home.resolve()
    heartbeat = read_heartbeat(home)
    if heartbeat is not None and heartbeat.age > SILENT_SECONDS:
        time.sleep(SIGN_SECONDS)
        heartbeat = read_heartbeat(home)  # the watcher may have looked since, and noticed that it slept
    return None if heartbeat is None else heartbeat.awake


def look_at_all(
    client: SyncPrefectClient,
    stale: timedelta,
    choice: WorthALook | None = None,
    shown: dict[str, str] | None = None,
    awake: datetime | None = None,
) -> ReconcileResult:
    """Look at every run that is not complete; an error in one never keeps another waiting.

    A run without a heartbeat for ``stale`` is dead. ``choice``: which suspended runs to look at; default: all.
    ``shown``: faults that are already on the runs' pages, so that each is shown once; of a run that is over, the state
    that it ended in. ``awake``: since when runs could send heartbeats, if the machine slept before.
    """
    shown = {} if shown is None else shown
    found = ReconcileResult()
    for flow_run in runs_in_states(["Suspended", *UNDER_WAY, "Crashed", *OVER], FLOWS_OF_RUNS, client):
        state, end = flow_run.state_name or "", str(flow_run.state.id if flow_run.state else "")
        found.waiting += state == "Suspended"
        if state in OVER and shown.get(str(flow_run.id)) == end:
            continue
        try:
            flow = flow_name(flow_run.flow_id, client)
            if state == "Suspended":
                did = resume_if_complete(flow_run, flow, choice)
            elif state in OVER:
                did = note_if_unnoted(flow_run, flow, how_it_ended(flow_run))
            else:
                did = restart_if_dead(flow_run, flow, stale, awake)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one run
            fault = str(error) or type(error).__name__
            found.faults[flow_run.name] = fault
            if shown.get(str(flow_run.id)) != fault:
                flow_run_logger(flow_run).error("This run could not be checked: %s", fault)
            shown[str(flow_run.id)] = fault
        else:
            shown.pop(str(flow_run.id), None)
            if state in OVER:
                shown[str(flow_run.id)] = end
            found.done += [did] if did else []
    return found


def restart_if_dead(flow_run: FlowRun, flow: str, stale: timedelta, awake: datetime | None) -> str:
    """Restart a run whose process died; returns what was done."""
    # A process begins to hold its lock before its run is Running.
    if flow_run.state_name == "Running" and is_abandoned(f"{FLOW}{flow_run.id}"):
        stale = min(stale, timedelta(seconds=SIGN_SECONDS))
    # A subflow has no deployment: its parent run starts it again.
    if flow_run.deployment_id is None or (flow_run.state_name in UNDER_WAY and not is_dead(flow_run, stale, awake)):
        return ""
    if not may_start_again(flow_run):
        return note_if_unnoted(flow_run, flow, TOO_OFTEN)
    flow_run_logger(flow_run).warning("The process of this run is gone; the run is restarted.")
    reschedule(flow_run)
    return f"Run {flow_run.name} was restarted."


def resume_if_complete(flow_run: FlowRun, flow: str, choice: WorthALook | None) -> str:
    """Look at what a suspended run waits for and resume it when that is complete; returns what was done."""
    run = str(flow_run.parameters["run"])
    if corpus := batch_waited_for(flow_run):
        complete = is_batch_over(flow_run, run, corpus, choice)
    else:
        waiting = waiting_of(open_run(run), flow)
        if waiting is None or waiting.kind is not WaitsFor.ANNOTATORS or waiting.flow_run != str(flow_run.id):
            return ""
        complete = is_done(flow_run, waiting, choice)
    if not complete:
        return ""
    flow_run_logger(flow_run).info("What this run was waiting for is complete; it continues.")
    resume(flow_run.id)
    return f"Run {flow_run.name} was resumed."


def how_it_ended(flow_run: FlowRun) -> str:
    """Say why a run failed, or that it was cancelled."""
    if flow_run.state_name == "Cancelled":
        return "It was cancelled in Prefect."
    return in_words(flow_run.state.message if flow_run.state else None)


def note_if_unnoted(flow_run: FlowRun, flow: str, why: str) -> str:
    """Note that a run ended badly, where no hook did so; returns what was done.

    Prefect calls none when a suspended run is cancelled or a process dies, and none can write while S3 is gone.
    """
    if flow_run.parent_task_run_id is not None:  # its parent run notes it
        return ""
    try:
        store = open_run(str(flow_run.parameters.get("run", "")))
    except InputError:  # no run can have this key, which is why it failed
        return ""
    known = dict(all_waiting(store))
    waiting = known.get(flow)
    if waiting and waiting.flow_run == str(flow_run.id):
        noted = waiting.kind in {WaitsFor.FIX, WaitsFor.NOTHING}
    else:  # perhaps it could not even note that it began; what is noted since then is of a newer run
        since = [one.at for one in known.values() if one.at]
        began = flow_run.start_time
        noted = began is None or any(at > began for at in since) or not store.exists(MANIFEST)
    if noted:
        return ""
    wait_for(store, str(flow_run.id), flow, WaitsFor.FIX, waiting.slug if waiting else "", why)
    show_what_now(store, str(flow_run.id))
    return f"Run {flow_run.name} ended: {why}"


def is_done(flow_run: FlowRun, waiting: Waiting, choice: WorthALook | None) -> bool:
    """Look at the project that a run waits for, show its progress on the run's page, and tell whether it is done."""
    run = str(flow_run.parameters["run"])
    store, logger = open_run(run), flow_run_logger(flow_run)
    projects = [one.project_id for one in read_pushed(store, waiting.slug).projects]
    if choice and not choice.is_due(f"{run} {waiting.slug}", projects):
        return False
    progress = look_at_people(store, waiting.slug, logger)
    show_progress(store, waiting.flow_run, waiting.slug, progress)
    look_after(store, waiting, progress.words, logger)
    show_what_now(store, waiting.flow_run)
    check_earlier(store, logger)
    if choice:
        choice.looked(f"{run} {waiting.slug}")
    return progress.complete


def is_batch_over(flow_run: FlowRun, run: str, corpus: str, choice: WorthALook | None) -> bool:
    """Look at an LLM batch, and tell whether it is over, whatever its outcome."""
    if choice and not choice.is_due(f"{run} {corpus}", ()):
        return False
    store = open_run(run)
    state = look_at_batch(store, corpus)
    over = state.answered + state.open
    summary = f"Run {run}, LLM batch on the {corpus} pairs: {batch_in_words(state)}"
    percent = 100.0 * over / max(over + state.waiting, 1)
    bar = ProgressArtifact(
        key=key(run, "llm", corpus, "progress"), progress=percent, description=summary, flow_run_id=flow_run.id
    )
    show_live(store, f"llm-{corpus}", bar, summary)
    if choice:
        choice.looked(f"{run} {corpus}")
    return state.done


CHECKED = "checked.json"
BETWEEN_CHECKS = timedelta(hours=1)
"""Hours between checks, since each reads a whole batch from Label Studio."""


def look_after(store: Store, waiting: Waiting, summary: str, logger: Loggers) -> None:
    """Show the annotators of a batch on the page of the run that waits for it, and send reminders if due.

    It uses what was just read. Other projects have no schedule, and nobody is expected there.
    """
    slug = waiting.slug
    pushed, now = read_pushed(store, slug), datetime.now(UTC)
    snapshot = known_so_far(store, pushed)
    if snapshot is None or not store.exists(project_file(slug, SCHEDULE)):
        return
    rows = attendance(store, pushed, snapshot, now)
    shown = [one.row for one in rows] or [{"account": "nobody has started"}]
    show_rows(store, waiting.flow_run, slug, "annotators", shown, f"Run {store.key}, {slug}: {summary}")
    text = reminder_due(store, pushed, snapshot, rows, now)
    if text:
        block = schedule_of(store, slug).block
        reminder = send_reminder(store, pushed, text, partial(notify_by, block) if block else None, now)
        logger.warning("%s\n(%s)", text, reminder.sent)


def check_earlier(store: Store, logger: Loggers) -> None:
    """Compare pulled batches with Label Studio, each once an hour, and report what has changed."""
    now = datetime.now(UTC)
    for batch in batches_pushed(store):
        name = batch_file(batch, CHECKED)
        if pulled_of(store, batch) is None:
            continue
        if store.exists(name) and now - store.read_json(name, datetime) < BETWEEN_CHECKS:
            continue
        store.write_json(name, now.isoformat())
        if changed := check(store, batch):
            for line in changed.changes:
                logger.warning("Run %s, batch %d, after it was pulled: %s.", store.key, batch, line)
