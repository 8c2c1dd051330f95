"""Where a run stands: ``status``, ``runs``, and ``start``, ``status``, ``close``, ``show`` of each kind of work.

Prefect is imported inside the functions: it takes seconds, and ``--help`` must not.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from abcdlink.cli.output import JsonOption, RunArgument, out, print_json, print_table, say
from abcdlink.errors import AbcdlinkError, InputError
from abcdlink.layout import is_batch, is_feedback
from abcdlink.settings import get_settings
from abcdlink.store import Store, all_runs, existing_run
from abcdlink.waiting import Waiting, WaitsFor, all_waiting, close_project, people_progress, wait_for, waiting_of

if TYPE_CHECKING:
    from abcdlink.whatnow import Surroundings
    from labelstudio_config.snapshot import Snapshot

WaitOption = Annotated[
    bool, typer.Option("--wait", help="Wait until people are needed, it fails or it ends; then say what to do next.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("status")(status)
    app.command("runs")(runs)


def use_local_server() -> None:
    """Let Prefect's client use the server that ``abcdlink up`` starts, unless another one is set."""
    from services.programs import prefect_client_environment

    settings = get_settings()
    (settings.home.resolve() / "prefect").mkdir(parents=True, exist_ok=True)
    told = prefect_client_environment(settings)
    if os.environ.get("PREFECT_API_URL", told["PREFECT_API_URL"]) != told["PREFECT_API_URL"]:
        told = {"PREFECT_HOME": told["PREFECT_HOME"]}  # our password must not go to another server
    for name, value in told.items():
        os.environ.setdefault(name, value)


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
    """Print what to do now, after a look at Label Studio if the run waits for people."""
    use_local_server()
    from abcdlink.whatnow import what_now

    problem = look_at_projects(store)
    now = what_now(store, _surroundings(store))
    if json:
        print_json({**now.model_dump(mode="json"), "headline": now.headline, "problem": problem})
        return
    _print_lines(now.plain(), problem)
    if any(waiting.kind is WaitsFor.NOBODY for _, waiting in all_waiting(store)):
        from services.health import answers

        if not answers(f"{os.environ['PREFECT_API_URL']}/health"):
            say("Prefect does not answer. If it is stopped, nothing is at work: run `abcdlink up`, and this goes on.")


def _surroundings(store: Store) -> Surroundings:
    """Return what the servers know of a run, without Prefect, which takes longer to import than all the rest."""
    from labelstudio_config.run import surroundings

    ui = os.environ.get("PREFECT_UI_URL") or os.environ["PREFECT_API_URL"].rstrip("/").removesuffix("/api")
    return surroundings(store, ui)


def _print_lines(lines: Iterable[str], problem: str) -> None:
    for line in lines:
        out.print(line, soft_wrap=True, markup=False, highlight=False)
    if problem:
        say(f"Label Studio could not be read, so this may be out of date: {problem}")


def look_at_projects(store: Store) -> str:
    """Look at every project that waits for people; returns why that was not possible, if it was not."""
    from labelstudio_config.attendance import note_people_progress
    from labelstudio_config.projects import look_now
    from labelstudio_config.run import is_pushed

    try:
        for _, waiting in all_waiting(store):
            if waiting.kind is WaitsFor.ANNOTATORS and is_pushed(store, waiting.slug):
                note_people_progress(store, *look_now(store, waiting.slug))
    except AbcdlinkError as error:
        return str(error)
    return ""


def runs(json: JsonOption = False) -> None:
    """List all runs, newest first: where each one stands, and since when.

    Example: `abcdlink runs`
    """
    from abcdlink.whatnow import what_now

    found = []
    for store in all_runs():
        try:
            now = what_now(store)
            found.append((now.since, store.key, now.headline))
        except AbcdlinkError as error:  # a broken run must not hide the others
            found.append((None, store.key, f"cannot be read: {error.problem}"))
    found.sort(key=lambda row: (row[0] is not None, row[0] or 0), reverse=True)
    if json:
        print_json({"runs": [{"run": key, "headline": what, "since": since} for since, key, what in found]})
        return
    rows = [(key, what, f"{since.astimezone():%Y-%m-%d %H:%M}" if since else "") for since, key, what in found]
    print_table("Runs", ("run", "what now", "since"), rows, texts=3)
    if not rows:
        say(f"No runs yet in {get_settings().runs_root}: start one with `abcdlink start`.")


def group(
    app: typer.Typer,
    name: str,
    what: str,
    *,
    start: Callable[..., None],
    show: Callable[..., None],
    status: Callable[..., None] | None = None,
    flow: str = "",
) -> typer.Typer:
    """Add the commands of one kind of work and return their group.

    ``what``: description for the help. ``status``: the command that shows people's progress; default: the one of every
    kind. ``flow``: the flow that waits for these people; default: the one with this name.
    """
    kind = typer.Typer(help=what, no_args_is_help=True)
    kind.command("start")(start)
    kind.command("status")(status or status_of(name, flow or name))
    kind.command("close")(close_of(name, flow or name))
    kind.command("show")(show)
    app.add_typer(kind, name=name)
    return kind


def status_of(name: str, flow: str) -> Callable[..., None]:
    """Return the command that shows people's progress."""

    def status(run: RunArgument, wait: WaitOption = False, json: JsonOption = False) -> None:
        from abcdlink.whatnow import item_of

        store = existing_run(run)
        use_local_server()
        if wait:
            from tasks.runs import wait_while_working

            wait_while_working(store)
        waiting = waiting_of(store, flow)
        if waiting is None or not is_of(name, waiting.slug):
            msg = f"run {run!r} has nothing under way for {name}"
            raise InputError(msg, f"see `abcdlink status {run}`, or start with `abcdlink {name} start {run}`")
        problem = look_at_projects(store)
        item, progress = item_of(store, flow, waiting, _surroundings(store)), people_progress(store, waiting.slug)
        if json:
            found = {"item": item.model_dump(mode="json"), "problem": problem}
            print_json({**found, "progress": progress.model_dump(mode="json") if progress else None})
            return
        if progress and progress.people:
            rows = [(one.account, one.annotator, one.done, one.open) for one in progress.people]
            print_table(f"{run}: {name}", ("account", "annotator", "done", "open"), rows, texts=2)
        _print_lines((f"{item.headline}.", *(line.plain() for line in item.lines)), problem)

    status.__doc__ = f"""Show progress, who still has to answer, and the links to send.

    Example: `abcdlink {name} status spring-news`
    """
    return status


ENOUGH = 2
"""Judgments with which a label still says what people agree on."""


def answers_so_far(store: Store, slug: str, result: str) -> Snapshot | None:
    """Return what is in Label Studio while people are at work; ``None``: their answers are pulled, or nobody began."""
    from labelstudio_config.projects import look_now
    from labelstudio_config.run import is_pushed

    return None if store.exists(result) or not is_pushed(store, slug) else look_now(store, slug)[1]


def say_who(run: str, kind: str, so_far: str) -> None:
    """Where a result is only so far, say which command shows how far each person is."""
    if so_far:
        say(f"How far each person is: `abcdlink {kind} status {run}`.")


def close_of(name: str, flow: str) -> Callable[..., None]:
    """Return the command that ends the wait for people."""

    def close(run: RunArgument, wait: WaitOption = False, json: JsonOption = False) -> None:
        store = existing_run(run)
        waiting = waits_for_people(store, name, flow)
        progress = people_progress(store, waiting.slug)
        left = progress.tasks - progress.done if progress else 0
        close_project(store, waiting.slug, progress.tasks if progress else 0)
        # The watcher may have seen that it is closed, and resumed it already.
        resume_run(waiting.flow_run, or_resumed=True)
        told = f"Closed {waiting.slug.replace('-', ' ')} of run {run}: it continues with the answers so far"
        if progress and left:
            told += f"; open tasks: {left} of {progress.tasks}"
            if is_batch(waiting.slug):
                told += ", whose candidates get no label"
                overlap = store.manifest.get("annotation", {}).get("overlap", 0)
                fewer = f"abcdlink export {run} --needed {overlap - 1}"
                told += f" (`{fewer}` gives one to those that fewer people judged)" if overlap > ENOUGH else ""
        answer(store, f"{told}.", json, wait, waiting)

    close.__doc__ = f"""Stop waiting for people: continue with the answers so far.

    Later answers do not count; what is missing is counted and shown.

    Example: `abcdlink {name} close spring-news`
    """
    return close


def answer(store: Store, told: str, json: bool, wait: bool, resumed: Waiting | None) -> None:
    """Print what was done; with ``wait``, also what to do next once the resumed flow run stops again.

    ``resumed``: what it waited for until now. The flow needs seconds to note that it is at work.
    """
    for flow, waiting in list(all_waiting(store)):
        if waiting == resumed:
            wait_for(store, waiting.flow_run, flow, WaitsFor.NOBODY, waiting.slug)
    if wait:
        from tasks.runs import wait_while_working

        if not json:
            say(told)
        wait_while_working(store, resumed.flow_run if resumed else "")
        show_now(store, json)
    elif json:
        print_json({"run": store.key, "said": told})
    else:
        say(told)


def is_of(name: str, slug: str) -> bool:
    """Tell whether a project belongs to a kind of work: the flow annotate waits for batches and for feedback."""
    return is_feedback(slug) == (name == "feedback")


def waits_for_people(store: Store, name: str, flow: str) -> Waiting:
    """Return what the run waits for; ``InputError`` when it is not people of this kind."""
    waiting = waiting_of(store, flow)
    if waiting is None or waiting.kind is not WaitsFor.ANNOTATORS or not is_of(name, waiting.slug):
        msg = f"run {store.key!r} is not waiting for the people of `abcdlink {name}`"
        raise InputError(msg, f"`abcdlink status {store.key}` says what it waits for")
    return waiting


def resume_run(flow_run: str, form: dict[str, Any] | None = None, *, or_resumed: bool = False) -> None:
    """Resume a run. ``or_resumed``: that somebody else did so in the meantime is as good.

    Raises:
        InputError: when it is not suspended.
        ServiceError: when no Prefect server answers.
    """
    use_local_server()
    from tasks.runs import reach_server, resume

    reach_server()
    if not resume(flow_run, form) and not or_resumed:
        msg = f"the flow run {flow_run} is no longer suspended"
        raise InputError(msg, "it is already under way, or it ended: `abcdlink runs` says which")
