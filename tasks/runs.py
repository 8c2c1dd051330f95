"""Flow runs as Prefect knows them: suspend and resume them, find those that died and restart them."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, TypeVar, overload
from uuid import UUID

import httpx
from prefect import suspend_flow_run
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas import FlowRun
from prefect.client.schemas.filters import (
    FlowFilter,
    FlowFilterName,
    FlowRunFilter,
    FlowRunFilterName,
    FlowRunFilterState,
    FlowRunFilterStateName,
)
from prefect.client.schemas.responses import SetStateStatus
from prefect.client.schemas.sorting import FlowRunSort
from prefect.events.filters import EventAnyResourceFilter, EventFilter, EventNameFilter
from prefect.exceptions import Abort, ObjectNotFound, PrefectHTTPStatusError
from prefect.input import RunInput
from prefect.runtime import flow_run as this_run
from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL
from prefect.states import AwaitingRetry

from abcdlink.errors import InputError, ServiceError
from abcdlink.store import Store, open_run
from abcdlink.waiting import WaitsFor, all_waiting, waiting_of
from abcdlink.waiting import wait_for as note

MOST_RESTARTS = 5
"""Most restarts within a day of a run whose process died."""
GONE = "Its process was gone"
DROPS = "drops"
"""The flow that is the work of no one run, though it is given one."""

PAGE = 200

Form = TypeVar("Form", bound=RunInput)


def runs_in_states(states: list[str], flows: list[str], client: SyncPrefectClient) -> list[FlowRun]:
    """Return all runs of these flows in these states (by name, e.g. Suspended), oldest first."""
    state_filter = FlowRunFilterState(name=FlowRunFilterStateName(any_=states))
    found: list[FlowRun] = []
    while True:
        page = client.read_flow_runs(
            flow_filter=FlowFilter(name=FlowFilterName(any_=flows)),
            flow_run_filter=FlowRunFilter(state=state_filter),
            limit=PAGE,
            offset=len(found),
        )
        found += page
        if len(page) < PAGE:
            return sorted(found, key=lambda run: (run.created is None, run.created))


_names: dict[UUID, str] = {}


def flow_name(flow_id: UUID, client: SyncPrefectClient) -> str:
    """Return the name of a flow, which never changes."""
    if flow_id not in _names:
        _names[flow_id] = client.read_flow(flow_id).name
    return _names[flow_id]


def forget(client: SyncPrefectClient, flow: str, message: str) -> None:
    """Delete the completed runs of a flow whose final state has this message."""
    for flow_run in runs_in_states(["Completed"], [flow], client):
        if flow_run.state is not None and flow_run.state.message == message:
            client.delete_flow_run(flow_run.id)


def resume(flow_run: UUID | str, form: dict[str, Any] | None = None) -> bool:
    """Resume a suspended run; tells whether it was suspended (else nothing is done).

    ``form``: the values for the form that the run waits for, if it waits for one.

    Raises:
        InputError: when there is no such run.
    """
    with get_client(sync_client=True) as client:
        try:
            # The status is 200 even if the run was not paused: only the body tells.
            return client.resume_flow_run(UUID(str(flow_run)), run_input=form).status == SetStateStatus.ACCEPT
        except ObjectNotFound:
            msg = f"Prefect has no flow run {flow_run}"
            raise InputError(msg, "check with `abcdlink status` which server is in use") from None


@overload
def suspend(key: str) -> None: ...
@overload
def suspend(key: str, form: type[Form]) -> Form: ...
def suspend(key: str, form: type[Form] | None = None) -> Form | None:
    """Suspend the run of this process, which ends here; returns the filled-in form once the run has been resumed.

    Args:
        key: key of the wait; Prefect suspends a run once for each key.
        form: form that the run waits for; default: only for being resumed.

    Raises:
        Abort: this process was taken for dead while the machine slept, and another replaced it: it ends without
            touching the run.
    """
    try:
        return suspend_flow_run(wait_for_input=form, key=key, timeout=None)
    except RuntimeError:
        if this_run.id is None:
            raise
        with get_client(sync_client=True) as client:
            state = client.read_flow_run(UUID(this_run.id)).state
        if state is None or state.is_running():
            raise
        msg = f"another process has taken over this run, which is {state.name}"
        raise Abort(msg) from None


def add_tag(flow_run: UUID | str, tag: str) -> None:
    """Tag a run, unless it has the tag already."""
    with get_client(sync_client=True) as client:
        tags = client.read_flow_run(UUID(str(flow_run))).tags
        if tag not in tags:
            client.update_flow_run(UUID(str(flow_run)), tags=[*tags, tag])


def last_sign_of_life(flow_run: FlowRun) -> datetime | None:
    """Return when a run last changed its state or sent a heartbeat."""
    heartbeats = EventFilter(
        event=EventNameFilter(name=["prefect.flow-run.heartbeat"]),
        any_resource=EventAnyResourceFilter(id=[f"prefect.flow-run.{flow_run.id}"]),
    )
    with get_client(sync_client=True) as client:
        newest = client.read_events(heartbeats, limit=1)
    signs: list[datetime] = [event.occurred for event in newest.events]
    if flow_run.state is not None and flow_run.state.timestamp is not None:
        signs.append(flow_run.state.timestamp)
    return max(signs, default=None)


def is_dead(flow_run: FlowRun, stale_after: timedelta, awake: datetime | None = None) -> bool:
    """Tell whether a flow run has been silent for so long that its process must be gone.

    ``awake``: since when it could send heartbeats, if the machine slept before.
    """
    began = flow_run.state.timestamp if flow_run.state else None
    soon = datetime.now(UTC) - stale_after
    if any(since is not None and since >= soon for since in (began, awake)):
        return False
    sign = last_sign_of_life(flow_run)
    return sign is not None and sign < soon


def may_start_again(flow_run: FlowRun) -> bool:
    """Tell whether a run whose process died will be restarted.

    Only one day counts: a run may kill its own process each time, but is not to blame for a machine off at night.
    """
    if flow_run.run_count <= MOST_RESTARTS:
        return True
    with get_client(sync_client=True) as client:
        states = client.read_flow_run_states(flow_run.id)
    day_ago = datetime.now(UTC) - timedelta(days=1)
    restarts = [state for state in states if state.message == GONE and state.timestamp >= day_ago]
    return len(restarts) < MOST_RESTARTS


def ended_badly(flow_run: FlowRun) -> bool:
    """Tell whether a run failed, was cancelled, or crashed too often to be restarted today."""
    state = flow_run.state
    if state is None:
        return False
    return state.is_failed() or state.is_cancelled() or (state.is_crashed() and not may_start_again(flow_run))


def reschedule(flow_run: FlowRun) -> None:
    """Restart a run whose process died, unless its state has changed since it was read."""
    with get_client(sync_client=True) as client:
        now = client.read_flow_run(flow_run.id).state
        if now is not None and flow_run.state is not None and now.id == flow_run.state.id:
            client.set_flow_run_state(flow_run.id, AwaitingRetry(message=GONE), force=True)


def start(deployment: str, parameters: dict[str, Any], idempotency_key: str | None = None) -> FlowRun:
    """Start a run of a deployment (``flow/deployment``) and return it at once.

    It is a top-level run, even if a flow starts it: Prefect cannot suspend a subflow.

    Raises:
        InputError: when a parameter is not what the flow takes.
        ServiceError: when Prefect does not know the deployment.
    """
    from prefect.deployments import run_deployment

    flow = deployment.partition("/")[0]
    # The name that the flow will take when it starts; set now, so that it is found while it waits for a worker.
    name = f"{flow} {parameters['run']}" if "run" in parameters else None
    try:
        flow_run: FlowRun = run_deployment(  # type: ignore[assignment]
            deployment,
            parameters=parameters,
            timeout=0,
            as_subflow=False,
            idempotency_key=idempotency_key,
            flow_run_name=name,
        )
    except ObjectNotFound:
        msg = f"Prefect has no deployment {deployment}"
        raise ServiceError(msg, "run `abcdlink up`, which creates the deployments") from None
    except PrefectHTTPStatusError as error:
        if error.response.status_code != HTTPStatus.CONFLICT:
            raise
        why = str(error.response.json()["detail"]).rpartition("Validation failed for ")[2]
        why = why.replace(". Failure reason", "")
        msg = f"a setting of the flow {flow} is invalid: {why}"
        raise InputError(msg, "`--help` says what the options take") from None
    if name and flow != DROPS:
        note_start(open_run(str(parameters["run"])), flow, flow_run)
    return flow_run


def note_start(store: Store, flow: str, flow_run: FlowRun) -> None:
    """Note that a flow is at work from the moment that it is started: its process takes seconds to say so itself."""
    noted = waiting_of(store, flow)
    if flow_run.state and flow_run.state.is_scheduled() and (noted is None or noted.flow_run != str(flow_run.id)):
        note(store, str(flow_run.id), flow, WaitsFor.NOBODY, noted.slug if noted else "")


def start_once(deployment: str, parameters: dict[str, Any], idempotency_key: str) -> FlowRun:
    """Start a run of a deployment, or return the one that was started under this key before.

    A run that failed, was cancelled, or crashed too often does not count: a new one is started instead.
    """
    while True:
        flow_run = start(deployment, parameters, idempotency_key)
        if not ended_badly(flow_run):
            return flow_run
        idempotency_key = f"{idempotency_key}-after-{flow_run.id}"


SECONDS_BETWEEN_LOOKS = 1.5


def reach_server() -> None:
    """Raise ``ServiceError`` if no Prefect server answers, or it refuses our password."""
    url, auth = PREFECT_API_URL.value(), str(PREFECT_API_AUTH_STRING.value() or "")
    user, _, password = auth.partition(":")
    try:
        reply = httpx.get(f"{url}/admin/version", auth=(user, password) if auth else None, timeout=10)
        reply.raise_for_status()
    except httpx.HTTPStatusError as error:
        msg = f"the Prefect server at {url} refuses us (status {error.response.status_code})"
        hint = "it may be that of another home: `abcdlink doctor` says whose, and ABCDLINK_PREFECT_PORT names ours"
        raise ServiceError(msg, f"{hint}; or set ABCDLINK_PREFECT_AUTH to its user:password") from None
    except httpx.HTTPError:
        msg = f"no Prefect server answers at {url}"
        raise ServiceError(msg, "start it with `abcdlink up`, or set PREFECT_API_URL") from None


def page_of(flow_run: FlowRun) -> str:
    """Return the address of a run in the Prefect UI."""
    return f"{(PREFECT_API_URL.value() or '').removesuffix('/api')}/runs/flow-run/{flow_run.id}"


def newest_run(name: str) -> FlowRun | None:
    """Return the newest flow run of this name (e.g. ``annotate demo``), if there is one."""
    with get_client(sync_client=True) as client:
        found = client.read_flow_runs(
            flow_run_filter=FlowRunFilter(name=FlowRunFilterName(any_=[name])),
            sort=FlowRunSort.EXPECTED_START_TIME_DESC,
            limit=1,
        )
    return found[0] if found else None


def parameters_of(flow_run: str) -> dict[str, Any]:
    """Return the parameters of a flow run; raises ``InputError`` if Prefect no longer has it."""
    with get_client(sync_client=True) as client:
        try:
            return client.read_flow_run(UUID(flow_run)).parameters
        except ObjectNotFound:
            msg = f"Prefect has no flow run {flow_run}"
            raise InputError(msg, "start the flow again with the same settings") from None


def wait_for(flow_run: str) -> FlowRun:
    """Return a flow run once it waits for people, or is over."""
    with get_client(sync_client=True) as client:
        while True:
            found = client.read_flow_run(UUID(flow_run))
            if found.state is not None and (found.state.is_final() or found.state.name == "Suspended"):
                return found
            time.sleep(SECONDS_BETWEEN_LOOKS)


def wait_while_working(store: Store, flow_run: str = "") -> None:
    """Return once no flow of a run is active: people are needed, one failed, or all are over.

    ``flow_run``: one that was just started or resumed, and may not have recorded anything yet.
    """
    while flow_run:
        begins = wait_for(flow_run).name.startswith(("bootstrap ", "start "))
        begun = newest_run(f"annotate {store.key}") if begins else None
        flow_run = str(begun.id) if begun else ""
    while any(waiting.kind in {WaitsFor.NOBODY, WaitsFor.LLM} for _, waiting in all_waiting(store)):
        time.sleep(SECONDS_BETWEEN_LOOKS)
