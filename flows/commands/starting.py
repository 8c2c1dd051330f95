"""How commands start a flow on the Prefect server, and the options that several of them have.

Prefect is imported inside the functions: it takes seconds, and ``--help`` must not.
"""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer

from abcdlink.cli.output import print_json, say
from abcdlink.settings import get_settings

BatchesOption = Annotated[int, typer.Option("--batches", min=1, max=20, help="Batches of annotation.")]
OverlapOption = Annotated[
    int | None, typer.Option("--overlap", min=1, max=10, help="Annotators per task; default: as the domain says.")
]
AutoFeedbackOption = Annotated[
    bool, typer.Option("--auto-feedback", help="Do not wait for the coordinator after a feedback round.")
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


def start_flow(deployment: str, parameters: dict[str, Any], json: bool) -> None:
    """Start a run of a deployment and say where it can be watched."""
    use_local_server()
    from flows.watch import page_of, reach_server
    from tasks.runs import start

    reach_server()
    flow_run = start(deployment, parameters)
    if json:
        print_json({"flow_run": str(flow_run.id), "name": flow_run.name, "url": page_of(flow_run)})
    else:
        say(f"Started {deployment.partition('/')[0]}: {page_of(flow_run)}")
