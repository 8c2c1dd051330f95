"""While people work a run is suspended: no process waits. Only a top-level run of a deployment can be suspended.

``reconcile`` resumes the run when its project is complete; the run then goes through its steps from the
top, and each finds its result in the run's folder.
"""

from __future__ import annotations

from uuid import uuid4

from prefect import get_run_logger, suspend_flow_run
from prefect.runtime import flow_run

from abcdlink.store import Store
from abcdlink.waiting import WaitsFor, wait_for
from flows.ui.artifacts import show_project
from flows.ui.what_now import show_what_now
from labelstudio_config.run import read_pushed
from tasks.projects import look


def wait_for_annotators(store: Store, flow: str, slug: str, or_resumed: str = "") -> None:
    """Suspend this run until the annotators of a pushed project are done; return when they are.

    Args:
        store: the run.
        flow: name of the flow that waits.
        slug: of the project.
        or_resumed: what it means when someone resumes the run before; empty: nothing, it waits on.
    """
    while not (progress := look(store.key, slug)).complete:
        pushed = read_pushed(store, slug)
        show_project(store.key, pushed)
        wait_for(store, str(flow_run.id), flow, WaitsFor.ANNOTATORS, slug)
        show_what_now(store, str(flow_run.id))
        get_run_logger().info(
            "%s waits for people at %s (%d of %d tasks done). This run is suspended now and goes on by itself when "
            "they are done%s.",
            slug,
            pushed.url,
            progress.done,
            progress.tasks,
            f", or when it is resumed: {or_resumed}" if or_resumed else "",
        )
        if or_resumed:
            # One fixed key: Prefect suspends once for it, so that whoever resumes the run ends the wait.
            suspend_flow_run(key=f"{slug}-annotators", timeout=None)
            return
        # A key of its own each time: being resumed is a hint, completeness decides.
        suspend_flow_run(key=f"{slug}-{uuid4()}", timeout=None)


def wait_for_coordinator(store: Store, flow: str, slug: str, told: str) -> None:
    """Note and say that this run is about to wait for the coordinator: the form itself is the flow's."""
    wait_for(store, str(flow_run.id), flow, WaitsFor.COORDINATOR, slug)
    show_what_now(store, str(flow_run.id))
    get_run_logger().info("%s This run is suspended now.", told)
