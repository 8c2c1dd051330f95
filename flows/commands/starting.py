"""How commands start a flow and say where a run is: ``status``, ``runs``, ``continue``, and what other commands share.

Prefect is imported inside the functions: it takes seconds, and ``--help`` must not.
"""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Annotated, Any

import typer

from abcdlink.cli.output import JsonOption, RunArgument, out, print_json, print_table, say
from abcdlink.errors import AbcdlinkError, InputError
from abcdlink.settings import get_settings
from abcdlink.store import Store, all_runs, existing_run, open_run
from abcdlink.waiting import WaitsFor, all_waiting


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
    bool, typer.Option("--wait", help="Wait until people are needed, it fails or it ends; then say what to do next.")
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
    from tasks.runs import page_of, reach_server, start, wait_while_working

    reach_server()
    flow_run = start(deployment, parameters)
    if not (json and wait):
        if json:
            print_json({"flow_run": str(flow_run.id), "name": flow_run.name, "url": page_of(flow_run)})
        else:
            say(f"Started {deployment.partition('/')[0]}: {page_of(flow_run)}")
    if wait:
        store = open_run(str(parameters["run"]))
        wait_while_working(store, str(flow_run.id))
        show_now(store, json)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("status")(status)
    app.command("runs")(runs)
    app.command("continue")(go_on)


def status(
    run: Annotated[str, typer.Argument(help="Run key; without one, the servers are shown.")] = "",
    wait: WaitOption = False,
    json: JsonOption = False,
) -> None:
    """Show where a run stands: stage, progress, whom it waits for, links to send, the next command. Or the servers.

    Without a run key it exits with 1 if a server is not running.

    Example: `abcdlink status spring-news`
    """
    if not run:
        from services.commands import show_servers

        show_servers(json)
        return
    store = existing_run(run)
    if wait:
        use_local_server()
        from tasks.runs import wait_while_working

        wait_while_working(store)
    show_now(store, json)


def show_now(store: Store, json: bool) -> None:
    """Print what now, after a look at Label Studio where people are waited for."""
    use_local_server()
    from abcdlink.whatnow import what_now
    from flows.waiting import surroundings

    problem = look_at_projects(store)
    now = what_now(store, surroundings(store))
    if json:
        print_json({**now.model_dump(mode="json"), "headline": now.headline, "problem": problem})
        return
    for line in now.plain():
        out.print(line, soft_wrap=True, markup=False, highlight=False)
    if problem:
        say(f"As it was at the last look: {problem}")


def look_at_projects(store: Store) -> str:
    """Look at every project at which people are waited for; returns why that was not possible, if it was not."""
    from labelstudio_config.attendance import note_standing
    from labelstudio_config.run import is_pushed, look_now

    try:
        for _, waiting in all_waiting(store):
            if waiting.kind is WaitsFor.ANNOTATORS and is_pushed(store, waiting.slug):
                note_standing(store, *look_now(store, waiting.slug))
    except AbcdlinkError as error:
        return str(error)
    return ""


def runs(json: JsonOption = False) -> None:
    """List all runs, newest first: where each one is, and since when.

    Example: `abcdlink runs`
    """
    from abcdlink.whatnow import what_now

    found = []
    for store in all_runs():
        try:
            now = what_now(store)
            found.append((now.since, store.key, now.headline))
        except AbcdlinkError as error:  # a broken run hides no other
            found.append((None, store.key, f"cannot be read: {error.problem}"))
    found.sort(key=lambda row: (row[0] is not None, row[0] or 0), reverse=True)
    if json:
        print_json({"runs": [{"run": key, "headline": what, "since": since} for since, key, what in found]})
        return
    rows = [(key, what, f"{since.astimezone():%Y-%m-%d %H:%M}" if since else "") for since, key, what in found]
    print_table("Runs", ("run", "what now", "since"), rows, texts=3)
    if not rows:
        say("No run yet: begin one with `abcdlink start`.")


def go_on(run: RunArgument, wait: WaitOption = False, json: JsonOption = False) -> None:
    """Restart a run's failed or cancelled flows with the settings that they were started with.

    They pick up where they stopped: nothing is done or paid for twice.

    Example: `abcdlink continue spring-news`
    """
    store = existing_run(run)
    stopped = [(flow, waiting) for flow, waiting in all_waiting(store) if waiting.kind is WaitsFor.FIX]
    if not stopped:
        msg = f"no flow of run {run!r} failed"
        raise InputError(msg, f"`abcdlink status {run}` says where it is")
    use_local_server()
    from tasks.runs import parameters_of

    for flow, waiting in stopped:
        start_flow(f"{flow}/{flow}", parameters_of(waiting.flow_run), json, wait)
