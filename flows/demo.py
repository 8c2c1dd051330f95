"""The demo: the whole job on the shipped sample, judged by simulated annotators or by people."""

from __future__ import annotations

import time
from typing import Any

from abcdlink.cli.output import out, say
from abcdlink.cli.results import print_agreement
from abcdlink.errors import AbcdlinkError, InputError
from abcdlink.feedback.guidelines import finished
from abcdlink.interannotator.measures import Agreement
from abcdlink.layout import (
    ADJUDICATIONS,
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
    is_feedback,
    project_file,
)
from abcdlink.settings import get_settings
from abcdlink.stages.feedback import prepare_feedback
from abcdlink.store import Store, open_run
from abcdlink.waiting import Waiting, WaitsFor, waiting_of
from flows.commands.status import show_now
from labelstudio_config.run import PUSHED, label_studio
from labelstudio_config.simulate import MARK, simulate_adjudicator, simulate_batch, simulate_feedback
from services import Stack
from services.commands import show
from tasks.runs import ended_badly, newest_run, page_of, reach_server, resume, start_once

ANNOTATE, ADJUDICATE = "annotate", "adjudicate"
CLARIFICATION = "- Two sentences about the same event are not linked if neither says what the other says."
"""What the demo adds to the guidelines if the annotators' disagreements show no pattern."""
BATCHES = 2
OVERLAP = 2
SECONDS_BETWEEN_LOOKS = 1.5
LONGEST_SECONDS = 1500

MILESTONES = {
    GENERATION: "synthetic corpus generated",
    VALIDATION: "synthetic corpus compared with the natural one",
    BENCHMARK: "approaches benchmarked",
    SHORTLIST: "shortlist chosen",
    POOL_COUNTS: "candidate pools built",
    project_file(batch_slug(1), PUSHED): "batch 1 is in Label Studio",
    batch_file(1, AGREEMENT): "batch 1 pulled and measured",
    batch_file(1, "feedback/outcome.json"): "feedback round over",
    project_file(batch_slug(2), PUSHED): "batch 2 is in Label Studio",
    batch_file(2, AGREEMENT): "batch 2 pulled and measured",
    REPORT: "data set and report written",
    ADJUDICATIONS: "disagreements adjudicated, data set and report regenerated",
}


def run_demo(stack: Stack, run: str, domain: str, pairs: int, documents: int, people: bool) -> None:
    """Run ``bootstrap`` on running servers; then play the annotators and show the results.

    With ``people`` it ends when it is people's turn, and says what to open; called again, it says what
    the run waits for now, or shows the results.

    Raises:
        InputError: when the run was started with other settings.
        AbcdlinkError: when a flow fails; it says which one and why.
    """
    reach_server()
    parameters = {
        "run": run,
        "domain": domain,
        "pairs": pairs,
        "generation": {"documents": documents},
        "annotation": {"batches": BATCHES, "overlap": OVERLAP, "preview": False},
    }
    begin(parameters)
    store = open_run(run)
    if follow(store, people):
        show_outcome(store)
    else:
        show_now(store, json=False)
        out.print("Run this command again to see what comes next.")
    show(stack, json=False)
    out.print("The servers are still running; stop them with `make down`.")


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
        msg = f"run {run!r} was started with other settings: {', '.join(changed)}"
        raise InputError(msg, "use another run key (--run), or the settings it was started with")


def follow(store: Store, people: bool) -> bool:
    """Print milestones as they are reached, and let programs do people's work, unless ``people`` do it.

    Tells whether the run has finished; otherwise it is people's turn.
    """
    begun, told, played = time.monotonic(), set[str](), set[tuple[str, WaitsFor]]()
    flow = ANNOTATE
    while True:
        for name, text in MILESTONES.items():
            if name not in told and store.exists(name):
                told.add(name)
                say(f"  {time.monotonic() - begun:5.0f} s  {text}")
        if is_over(store, flow):
            if people or flow == ADJUDICATE:
                return True
            flow = ADJUDICATE
            start_once("adjudicate/adjudicate", {"run": store.key}, f"adjudicate-{store.key}")
        waiting = waits_for(store, flow)
        if waiting is not None and people:
            return False
        if waiting is not None and (waiting.slug, waiting.kind) not in played:
            play(store, flow, waiting)
            played.add((waiting.slug, waiting.kind))
        if time.monotonic() - begun > LONGEST_SECONDS:
            msg = f"run {store.key!r} has not finished after {LONGEST_SECONDS // 60} minutes"
            raise AbcdlinkError(msg, "look at it in the Prefect UI; running `abcdlink demo` again continues it")
        time.sleep(SECONDS_BETWEEN_LOOKS)


def is_over(store: Store, flow: str) -> bool:
    """Tell whether a flow of the run has ended; raise when it, or bootstrap, has failed."""
    for name in (f"bootstrap {store.key}", f"{flow} {store.key}"):
        flow_run = newest_run(name)
        if flow_run is None or flow_run.state is None:
            continue
        if ended_badly(flow_run):
            msg = f"the flow run {name!r} ended as {flow_run.state.name}: {flow_run.state.message}"
            raise AbcdlinkError(msg, f"look at {page_of(flow_run)}")
        if name.startswith(flow) and flow_run.state.is_completed():
            return store.exists(REPORT)
    return False


def waits_for(store: Store, flow: str) -> Waiting | None:
    """Return what the suspended run of a flow waits for."""
    flow_run = newest_run(f"{flow} {store.key}")
    suspended = flow_run is not None and flow_run.state is not None and flow_run.state.name == "Suspended"
    waiting = waiting_of(store, flow) if suspended else None
    return waiting if waiting and waiting.kind in {WaitsFor.ANNOTATORS, WaitsFor.COORDINATOR} else None


def play(store: Store, flow: str, waiting: Waiting) -> None:
    """Let programs do what the run waits for, then resume it at once; the watcher would take up to half a minute."""
    client, token = label_studio(), get_settings().label_studio_token.get_secret_value()
    if waiting.kind is WaitsFor.COORDINATOR:
        batch = batch_of(waiting.slug)
        say(f"         the drafted clarifications after batch {batch} are accepted")
        text = finished(prepare_feedback(store, batch).draft) or CLARIFICATION
        resume(waiting.flow_run, {"clarifications": text, "label_studio_round": True})
        return
    if flow == ADJUDICATE:
        say("         a simulated adjudicator decides where annotators disagree (a program, not a person)")
        simulate_adjudicator(store, client, token, OVERLAP + 1)
    elif is_feedback(waiting.slug):
        say("         simulated annotators judge the borderline cases again")
        simulate_feedback(store, client, token, batch_of(waiting.slug), OVERLAP)
    else:
        say(f"         simulated annotators judge {waiting.slug} (these are programs, not people)")
        simulate_batch(store, client.url, token, batch_of(waiting.slug), accounts=OVERLAP)
    resume(waiting.flow_run)


def show_outcome(store: Store) -> None:
    """Print acceptance by method, kappa of each batch, and the report."""
    result = store.read_record(AGREEMENT, Agreement)
    who = "SIMULATED annotators" if MARK in store.manifest else "people"
    print_agreement(result, f"Run {store.key}: judgments of {who}")
    out.print(f"Report: {store.where(REPORT)}", soft_wrap=True)
