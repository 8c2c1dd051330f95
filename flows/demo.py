"""The demonstration: the whole job on the shipped sample, judged by simulated annotators."""

from __future__ import annotations

import time

from abcdlink.agreement import Agreement
from abcdlink.cli.output import out, say
from abcdlink.cli.results import print_agreement
from abcdlink.cli.servers import start_servers
from abcdlink.errors import AbcdlinkError
from abcdlink.layout import (
    AGREEMENT,
    BENCHMARK,
    GENERATION,
    POOL_COUNTS,
    REPORT,
    SHORTLIST,
    VALIDATION,
    WAITING,
    batch_file,
)
from abcdlink.services.records import Stack
from abcdlink.settings import get_settings
from abcdlink.store import Store, open_run
from flows.watch import newest_run, page_of, reach_server
from labelstudio_config.simulate import simulate_annotators
from tasks.runs import start, start_once

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
    batch_file(1, "push.json"): "batch 1 is in Label Studio",
    batch_file(1, "agreement.json"): "batch 1 pulled and measured",
    batch_file(1, "feedback/accepted.json"): "feedback round over (accepted automatically)",
    batch_file(2, "push.json"): "batch 2 is in Label Studio",
    batch_file(2, "agreement.json"): "batch 2 pulled and measured",
    REPORT: "data set and report written",
}


def run_demo(run: str, domain: str, documents: int) -> None:
    """Start the servers, run ``bootstrap``, play the annotators, and show what came out.

    Raises:
        AbcdlinkError: when a flow fails; says which and why.
    """
    stack = start_servers()
    reach_server()
    parameters = {
        "run": run,
        "domain": domain,
        "generation": {"documents": documents},
        "annotation": {"batches": BATCHES, "overlap": OVERLAP, "auto_feedback": True},
    }
    flow_run = start_once("bootstrap/bootstrap", parameters, f"bootstrap-{run}")
    say(f"Run {run!r}: {page_of(flow_run)}")
    store = open_run(run)
    follow(store)
    show_outcome(store, stack)


def follow(store: Store) -> None:
    """Tell the milestones as they are reached, and judge each batch that waits for annotators."""
    begun, told, judged = time.monotonic(), set[str](), set[int]()
    while True:
        for name, text in MILESTONES.items():
            if name not in told and store.exists(name):
                told.add(name)
                say(f"  {time.monotonic() - begun:5.0f} s  {text}")
        if is_over(store):
            return
        batch = waiting_batch(store)
        if batch is not None and batch not in judged:
            judge(store, batch)
            judged.add(batch)
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
        if flow_run.state.is_failed() or flow_run.state.is_crashed() or flow_run.state.is_cancelled():
            msg = f"the flow run {name!r} ended as {flow_run.state.name}: {flow_run.state.message}"
            raise AbcdlinkError(msg, f"look at {page_of(flow_run)}")
        if name.startswith("annotate") and flow_run.state.is_completed():
            return store.exists(REPORT)
    return False


def waiting_batch(store: Store) -> int | None:
    """Return the batch that the suspended run waits for annotators of, if it does."""
    if not store.exists(WAITING):
        return None
    waiting = store.read_json(WAITING)
    flow_run = newest_run(f"annotate {store.key}")
    suspended = flow_run is not None and flow_run.state is not None and flow_run.state.name == "Suspended"
    return int(waiting["batch"]) if suspended and waiting["for"] == "annotators" else None


def judge(store: Store, batch: int) -> None:
    """Let simulated annotators judge a batch, then ask for a look at once instead of at the next scheduled one."""
    say(f"         simulated annotators judge batch {batch} (these are programs, not people)")
    settings = get_settings()
    token = settings.label_studio_token.get_secret_value()
    simulate_annotators(settings.label_studio_url, token, store.key, batch, accounts=OVERLAP)
    start("reconcile/reconcile", {})


def show_outcome(store: Store, stack: Stack) -> None:
    """Print acceptance by method, kappa of each batch, the report and what is still up."""
    result = Agreement.model_validate_json(store.read_text(AGREEMENT))
    print_agreement(result, f"Run {store.key}: judgments of SIMULATED annotators")
    out.print(f"Report: {store.where(REPORT)}", soft_wrap=True)
    for service in stack.services:
        if service.url:
            out.print(f"{service.name}: {service.url}", soft_wrap=True)
    for line in (stack.login, *stack.notes):
        if line:
            out.print(line, soft_wrap=True)
    out.print("The servers are still up; stop them with `make down`.")
