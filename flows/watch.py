"""Flow runs, for the command line."""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID

import httpx
from prefect.client.orchestration import get_client
from prefect.client.schemas import FlowRun
from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL

from abcdlink.errors import InputError, ServiceError
from abcdlink.store import Store
from abcdlink.waiting import WaitsFor, all_waiting

SECONDS_BETWEEN_LOOKS = 1.5
AT_WORK = {WaitsFor.NOBODY, WaitsFor.LLM}


def reach_server() -> None:
    """Raise ``ServiceError`` when no Prefect server answers, or it refuses our password."""
    url, auth = PREFECT_API_URL.value(), str(PREFECT_API_AUTH_STRING.value() or "")
    user, _, password = auth.partition(":")
    try:
        reply = httpx.get(f"{url}/admin/version", auth=(user, password) if auth else None, timeout=10)
        reply.raise_for_status()
    except httpx.HTTPStatusError as error:
        msg = f"the Prefect server at {url} refuses us (status {error.response.status_code})"
        raise ServiceError(msg, "set PREFECT_API_AUTH_STRING to its user:password") from None
    except httpx.HTTPError:
        msg = f"no Prefect server answers at {url}"
        raise ServiceError(msg, "start it with `abcdlink up`, or set PREFECT_API_URL") from None


def page_of(flow_run: FlowRun) -> str:
    """Return the address of a run in the Prefect UI."""
    return f"{(PREFECT_API_URL.value() or '').removesuffix('/api')}/runs/flow-run/{flow_run.id}"


def newest_run(name: str) -> FlowRun | None:
    """Return the newest flow run of this name (e.g. ``annotate demo``), if there is one."""
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterName
    from prefect.client.schemas.sorting import FlowRunSort

    with get_client(sync_client=True) as client:
        found = client.read_flow_runs(
            flow_run_filter=FlowRunFilter(name=FlowRunFilterName(any_=[name])),
            sort=FlowRunSort.EXPECTED_START_TIME_DESC,
            limit=1,
        )
    return found[0] if found else None


def parameters_of(flow_run: str) -> dict[str, Any]:
    """Return what a flow run was started with; ``InputError`` when Prefect has forgotten it."""
    from prefect.exceptions import ObjectNotFound

    with get_client(sync_client=True) as client:
        try:
            return client.read_flow_run(UUID(flow_run)).parameters
        except ObjectNotFound:
            msg = f"Prefect has no flow run {flow_run}"
            raise InputError(msg, "start the flow again with the settings that it had") from None


def wait_while_working(store: Store, flow_run: str = "") -> None:
    """Return when no flow of a run is at work: people are needed, one failed, or all are over.

    Args:
        store: the run.
        flow_run: was just started or resumed, and may have noted nothing yet.
    """
    with get_client(sync_client=True) as client:
        while flow_run:
            found = client.read_flow_run(UUID(flow_run))
            if found.state is not None and (found.state.is_final() or found.state.name == "Suspended"):
                begins = found.name.startswith(("bootstrap ", "start "))
                begun = newest_run(f"annotate {store.key}") if begins else None
                flow_run = str(begun.id) if begun else ""
            else:
                time.sleep(SECONDS_BETWEEN_LOOKS)
    while any(waiting.kind in AT_WORK for _, waiting in all_waiting(store)):
        time.sleep(SECONDS_BETWEEN_LOOKS)
