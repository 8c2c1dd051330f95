"""Where runs are: ``status``, ``runs`` and ``continue``.

Prefect is imported inside the commands: it takes seconds, and ``--help`` must not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from abcdlink.cli.output import JsonOption, RunArgument, out, print_json, print_table, say
from abcdlink.errors import AbcdlinkError, InputError
from flows.commands.starting import WaitOption, start_flow, use_local_server

if TYPE_CHECKING:
    from abcdlink.store import Store


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
    from abcdlink.store import existing_run

    store = existing_run(run)
    if wait:
        use_local_server()
        from flows.watch import wait_while_working

        wait_while_working(store)
    show_now(store, json)


def show_now(store: Store, json: bool) -> None:
    """Print what now, after a look at Label Studio where people are waited for."""
    use_local_server()
    from abcdlink.whatnow import what_now
    from flows.ui.what_now import surroundings

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
    from abcdlink.waiting import WaitsFor, all_waiting
    from labelstudio_config.run import is_pushed, look_now
    from labelstudio_config.standing import note_standing

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
    from abcdlink.store import all_runs
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

    They go on where they stopped: nothing that is there is done or paid for twice.

    Example: `abcdlink continue spring-news`
    """
    from abcdlink.store import existing_run
    from abcdlink.waiting import WaitsFor, all_waiting

    store = existing_run(run)
    stopped = [(flow, waiting) for flow, waiting in all_waiting(store) if waiting.kind is WaitsFor.FIX]
    if not stopped:
        msg = f"no flow of run {run!r} failed"
        raise InputError(msg, f"`abcdlink status {run}` says where it is")
    use_local_server()
    from flows.watch import parameters_of

    for flow, waiting in stopped:
        start_flow(f"{flow}/{flow}", parameters_of(waiting.flow_run), json, wait)
