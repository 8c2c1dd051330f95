"""*What now* on a run's page: one text, replaced in place whenever the run goes on, waits, fails or ends."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypedDict
from uuid import UUID

from prefect.artifacts import MarkdownArtifact
from prefect.settings import PREFECT_UI_URL

from abcdlink.errors import AbcdlinkError
from abcdlink.store import Store, open_run
from abcdlink.waiting import WaitsFor, all_waiting, wait_for, waiting_of
from abcdlink.whatnow import Surroundings, WhatNow, what_now
from flows.ui.artifacts import key
from flows.ui.live_artifacts import show_live

if TYPE_CHECKING:
    from prefect import Flow
    from prefect.client.schemas import FlowRun, State

SHOWN = "what-now"
RAISED = re.compile(r"^(Flow run encountered an exception: )?(\w+Error: )?")


def surroundings(store: Store) -> Surroundings:
    """Return what the servers know of a run; without an invitation where none is needed or Label Studio is away."""
    from labelstudio_config.run import label_studio

    invitation = ""
    if any(waiting.kind is WaitsFor.ANNOTATORS for _, waiting in all_waiting(store)):
        try:
            invitation = label_studio().invitation()
        except AbcdlinkError:
            invitation = ""
    return Surroundings(invitation=invitation, pages=f"{PREFECT_UI_URL.value() or ''}/runs/flow-run/", accounts=True)


def show_what_now(store: Store, flow_run: str) -> WhatNow:
    """Show on a run's page where the run is."""
    now = what_now(store, surroundings(store))
    text = now.markdown()
    shown = MarkdownArtifact(
        key=key(store.key, SHOWN), markdown=text, description=now.headline, flow_run_id=UUID(flow_run)
    )
    show_live(store, SHOWN, shown, text)
    return now


def began(flow: Flow[..., Any], flow_run: FlowRun, _state: State[Any]) -> None:
    """Note that a flow is at work."""
    _note(flow, flow_run, WaitsFor.NOBODY)


def ended(flow: Flow[..., Any], flow_run: FlowRun, _state: State[Any]) -> None:
    """Note that a flow is over."""
    _note(flow, flow_run, WaitsFor.NOTHING)


def failed(flow: Flow[..., Any], flow_run: FlowRun, state: State[Any]) -> None:
    """Note that a flow failed, and why."""
    _note(flow, flow_run, WaitsFor.FIX, RAISED.sub("", state.message or "", count=1))


def _note(flow: Flow[..., Any], flow_run: FlowRun, kind: WaitsFor, told: str = "") -> None:
    """Note what a flow is at. A subflow notes nothing: the flow that it is part of speaks for it."""
    if flow_run.parent_task_run_id is not None:
        return
    store = open_run(str(flow_run.parameters["run"]))
    before = waiting_of(store, flow.name)
    wait_for(store, str(flow_run.id), flow.name, kind, before.slug if before else "", told)
    show_what_now(store, str(flow_run.id))


class Hooks(TypedDict):
    """Hooks of a flow, as its decorator takes them."""

    on_running: list[Any]
    on_completion: list[Any]
    on_failure: list[Any]
    on_cancellation: list[Any]


NOTED: Hooks = {
    "on_running": [began],
    "on_completion": [ended],
    "on_failure": [failed],
    "on_cancellation": [failed],
}
"""Hooks of every flow that has a run key: they keep *What now* up to date."""
