"""How commands start a flow on the Prefect server, and the options that several of them have.

Prefect is imported inside the functions: it takes seconds, and ``--help`` must not.
"""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Annotated, Any

import typer

from abcdlink.cli.output import print_json, say
from abcdlink.settings import get_settings


class Goal(StrEnum):
    """What the job is for."""

    COMPARE = "compare methods"
    FIND = "find links"
    TRY = "quick try"


BatchesOption = Annotated[int, typer.Option("--batches", min=1, max=20, help="Batches of annotation.")]
OverlapOption = Annotated[
    int | None, typer.Option("--overlap", min=1, max=10, help="Annotators per task; default: as the domain says.")
]
AutoFeedbackOption = Annotated[
    bool, typer.Option("--auto-feedback", help="Do not wait for the coordinator after a feedback round.")
]


PreviewOption = Annotated[
    bool | None,
    typer.Option(
        "--preview/--no-preview", help="Wait for your Go before each batch; default: as ABCDLINK_PREVIEW says."
    ),
]
WaitOption = Annotated[
    bool, typer.Option("--wait", help="Wait until people are needed, or it failed, or it is over; then say what now.")
]


def use_local_server() -> None:
    """Let Prefect's client talk to the server that ``abcdlink up`` starts, unless another one is set."""
    from services.programs import prefect_client_environment

    settings = get_settings()
    (settings.home.resolve() / "prefect").mkdir(parents=True, exist_ok=True)
    told = prefect_client_environment(settings)
    if os.environ.get("PREFECT_API_URL", told["PREFECT_API_URL"]) != told["PREFECT_API_URL"]:
        told = {"PREFECT_HOME": told["PREFECT_HOME"]}  # our password is not for another server
    for name, value in told.items():
        os.environ.setdefault(name, value)


def start_flow(deployment: str, parameters: dict[str, Any], json: bool, wait: bool = False) -> None:
    """Start a run of a deployment and say where it can be watched; with ``wait``, how it stands when it stands."""
    use_local_server()
    from flows.watch import page_of, reach_server, wait_while_working
    from tasks.runs import start

    reach_server()
    flow_run = start(deployment, parameters)
    if not (json and wait):
        if json:
            print_json({"flow_run": str(flow_run.id), "name": flow_run.name, "url": page_of(flow_run)})
        else:
            say(f"Started {deployment.partition('/')[0]}: {page_of(flow_run)}")
    if wait:
        from abcdlink.store import open_run
        from flows.commands.status import show_now

        store = open_run(str(parameters["run"]))
        wait_while_working(store, str(flow_run.id))
        show_now(store, json)
