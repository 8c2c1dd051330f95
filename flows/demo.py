"""The demonstration: the whole job on the shipped sample, judged by simulated annotators or by people."""

from __future__ import annotations

import time
from typing import Any

from abcdlink.cli.output import out, say
from abcdlink.cli.results import print_agreement
from abcdlink.errors import AbcdlinkError, InputError
from abcdlink.interannotator import Agreement
from abcdlink.layout import (
    AGREEMENT,
    BENCHMARK,
    GENERATION,
    POOL_COUNTS,
    REPORT,
    SHORTLIST,
    VALIDATION,
    batch_file,
    batch_of,
    batch_slug,
    project_file,
)
from abcdlink.settings import get_settings
from abcdlink.store import Store, open_run
from abcdlink.waiting import Waiting, WaitsFor, waiting_of
from flows.watch import newest_run, page_of, reach_server
from labelstudio_config.run import PUSHED, label_studio, read_pushed
from labelstudio_config.simulate import MARK, simulate_batch
from services.commands import start_servers
from services.records import Stack
from tasks.runs import ended_badly, resume, start_once

BATCHES = 2
OVERLAP = 2
SECONDS_BETWEEN_LOOKS = 1.5
LONGEST_SECONDS = 1500

MILESTONES = {
    GENERATION: "synthetic corpus generated",
    VALIDATION: "synthetic corpus measured against the natural one",
    BENCHMARK: "approaches benchmarked",
    SHORTLIST: "shortlist chosen",
    POOL_COUNTS: "candidate pools built",
    project_file(batch_slug(1), PUSHED): "batch 1 is in Label Studio",
    batch_file(1, AGREEMENT): "batch 1 pulled and measured",
    batch_file(1, "feedback/outcome.json"): "feedback round over",
    project_file(batch_slug(2), PUSHED): "batch 2 is in Label Studio",
    batch_file(2, AGREEMENT): "batch 2 pulled and measured",
    REPORT: "data set and report written",
}


def run_demo(run: str, domain: str, pairs: int, documents: int, people: bool) -> None:
    """Start the servers and run ``bootstrap``; then play the annotators and show what came out.

    With ``people`` it ends when it is people's turn, and says what they open; called again it says what
    the run waits for now, or shows what came out.

    Raises:
        InputError: when the run was begun with other settings.
        AbcdlinkError: when a flow fails; says which and why.
    """
    stack = start_servers()
    reach_server()
    parameters = {
        "run": run,
        "domain": domain,
        "pairs": pairs,
        "generation": {"documents": documents},
        "annotation": {"batches": BATCHES, "overlap": OVERLAP, "auto_feedback": not people},
    }
    begin(parameters)
    store = open_run(run)
    waiting = follow(store, people)
    if waiting is None:
        show_outcome(store)
    elif waiting.kind is WaitsFor.ANNOTATORS:
        invite(store, waiting)
    else:
        ask_for_feedback(store, waiting)
    show_servers(stack)


def begin(parameters: dict[str, Any]) -> None:
    """Start the flow ``bootstrap`` once for this run key, and say where it is.

    Raises:
        InputError: when it was started with other settings before.
    """
    run = parameters["run"]
    flow_run = start_once("bootstrap/bootstrap", parameters, f"bootstrap-{run}")
    say(f"Run {run!r}: {page_of(flow_run)}")
    changed = [name for name, value in parameters.items() if flow_run.parameters.get(name) != value]
    if changed:
        msg = f"run {run!r} was begun with other settings: {', '.join(changed)}"
        raise InputError(msg, "use another run key (--run), or the settings it was begun with")


def follow(store: Store, people: bool) -> Waiting | None:
    """Tell the milestones as they are reached; let programs judge each batch, unless ``people`` do.

    Returns:
        What the run waits for people with; ``None`` when it is at its end.
    """
    begun, told, judged = time.monotonic(), set[str](), set[str]()
    while True:
        for name, text in MILESTONES.items():
            if name not in told and store.exists(name):
                told.add(name)
                say(f"  {time.monotonic() - begun:5.0f} s  {text}")
        if is_over(store):
            return None
        waiting = waits_for(store)
        if waiting is not None and people:
            return waiting
        if waiting is not None and waiting.slug not in judged:
            judge(store, waiting)
            judged.add(waiting.slug)
        if time.monotonic() - begun > LONGEST_SECONDS:
            msg = f"run {store.key!r} is not at its end after {LONGEST_SECONDS // 60} minutes"
            raise AbcdlinkError(msg, "look at it in the Prefect UI; `abcdlink demo` again goes on with it")
        time.sleep(SECONDS_BETWEEN_LOOKS)


def is_over(store: Store) -> bool:
    """Tell whether the annotation has ended; raise when a flow of the run has failed."""
    for name in (f"bootstrap {store.key}", f"annotate {store.key}"):
        flow_run = newest_run(name)
        if flow_run is None or flow_run.state is None:
            continue
        if ended_badly(flow_run):
            msg = f"the flow run {name!r} ended as {flow_run.state.name}: {flow_run.state.message}"
            raise AbcdlinkError(msg, f"look at {page_of(flow_run)}")
        if name.startswith("annotate") and flow_run.state.is_completed():
            return store.exists(REPORT)
    return False


def waits_for(store: Store) -> Waiting | None:
    """Return what the suspended run waits for."""
    waiting = waiting_of(store, "annotate")
    flow_run = newest_run(f"annotate {store.key}")
    suspended = flow_run is not None and flow_run.state is not None and flow_run.state.name == "Suspended"
    return waiting if suspended else None


def judge(store: Store, waiting: Waiting) -> None:
    """Let simulated annotators judge a batch, then resume the run at once: ``reconcile`` would within half a minute."""
    batch = batch_of(waiting.slug)
    say(f"         simulated annotators judge batch {batch} (these are programs, not people)")
    settings = get_settings()
    token = settings.label_studio_token.get_secret_value()
    simulate_batch(store, settings.label_studio_url, token, batch, accounts=OVERLAP)
    resume(waiting.flow_run)


def invite(store: Store, waiting: Waiting) -> None:
    """Say what people open to annotate the batch that the run waits for."""
    pushed = read_pushed(store, waiting.slug)
    overlap = pushed.overlap
    lines = (
        f"{pushed.title!r} waits for {overlap} annotators. It is people's turn:",
        f"  1. Each annotator makes an account at {label_studio().invitation()}",
        "     (two people on one machine: the second one in a private window)",
        f"  2. and then judges the {len(pushed.task_keys)} tasks at {pushed.url}"
        + (", which leads each to their own" if pushed.home else ""),
        f"The run goes on by itself when all {overlap} annotators are done; nothing has to stay open but the servers.",
        "Give this command again to see what the run waits for next.",
    )
    for line in lines:
        out.print(line, soft_wrap=True, markup=False)


def ask_for_feedback(store: Store, waiting: Waiting) -> None:
    """Say where the memos are and how the coordinator ends the feedback round."""
    batch = batch_of(waiting.slug)
    lines = (
        f"Batch {batch} of run {store.key!r} is judged. What each annotator may look at again:",
        f"  {store.where(batch_file(batch, 'feedback'))}",
        f"Read it and the drafted clarifications with `abcdlink feedback show {store.key}`, then give",
        f"`abcdlink feedback start {store.key}`: the annotators judge the borderline cases again in Label Studio,",
        f"and batch {batch + 1} begins when all have; with --without-round it begins at once.",
    )
    for line in lines:
        out.print(line, soft_wrap=True, markup=False)


def show_outcome(store: Store) -> None:
    """Print acceptance by method, kappa of each batch, and the report."""
    result = store.read_record(AGREEMENT, Agreement)
    who = "SIMULATED annotators" if MARK in store.manifest else "people"
    print_agreement(result, f"Run {store.key}: judgments of {who}")
    out.print(f"Report: {store.where(REPORT)}", soft_wrap=True)


def show_servers(stack: Stack) -> None:
    """Print what is still up, and how the coordinator logs in."""
    for service in stack.services:
        if service.url:
            out.print(f"{service.name}: {service.url}", soft_wrap=True)
    for line in (stack.login, *stack.notes):
        if line:
            out.print(line, soft_wrap=True)
    out.print("The servers are still up; stop them with `make down`.")
