"""The pattern of every kind of work for people: ``start``, ``status``, ``close`` and ``show``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from abcdlink.cli.output import JsonOption, RunArgument, out, print_json, print_table, say
from abcdlink.errors import InputError
from abcdlink.layout import is_feedback
from abcdlink.store import Store, existing_run
from abcdlink.waiting import Waiting, WaitsFor, close_project, standing_of, waiting_of
from flows.commands.starting import WaitOption, look_at_projects, show_now, use_local_server


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

    Args:
        app: the command line.
        name: of the kind.
        what: it is, for the help.
        start: begins it.
        show: shows what came of it.
        status: shows how far people are; default: what is known of every kind.
        flow: that waits for these people; default: the one of this name.
    """
    kind = typer.Typer(help=what, no_args_is_help=True)
    kind.command("start")(start)
    kind.command("status")(status or status_of(name, flow or name))
    kind.command("close")(close_of(name, flow or name))
    kind.command("show")(show)
    app.add_typer(kind, name=name)
    return kind


def status_of(name: str, flow: str) -> Callable[..., None]:
    """Return the command that shows how far people are."""

    def status(run: RunArgument, wait: WaitOption = False, json: JsonOption = False) -> None:
        from abcdlink.whatnow import item_of

        store = existing_run(run)
        use_local_server()
        if wait:
            from tasks.runs import wait_while_working

            wait_while_working(store)
        from flows.waiting import surroundings

        waiting = waiting_of(store, flow)
        if waiting is None or not is_of(name, waiting.slug):
            msg = f"run {run!r} has nothing under way for {name}"
            raise InputError(msg, f"see `abcdlink status {run}`, or begin with `abcdlink {name} start {run}`")
        problem = look_at_projects(store)
        item, standing = item_of(store, flow, waiting, surroundings(store)), standing_of(store, waiting.slug)
        if json:
            found = {"item": item.model_dump(mode="json"), "problem": problem}
            print_json({**found, "standing": standing.model_dump(mode="json") if standing else None})
            return
        if standing and standing.people:
            rows = [(one.account, one.annotator, one.done, one.open) for one in standing.people]
            print_table(f"{run}: {name}", ("account", "annotator", "done", "open"), rows, texts=2)
        for line in (f"{item.headline}.", *(line.plain() for line in item.lines)):
            out.print(line, soft_wrap=True, markup=False, highlight=False)
        if problem:
            say(f"As it was at the last look: {problem}")

    status.__doc__ = f"""Show progress, who still has to answer, and the links to send.

    Example: `abcdlink {name} status spring-news`
    """
    return status


def close_of(name: str, flow: str) -> Callable[..., None]:
    """Return the command that ends the wait for people."""

    def close(run: RunArgument, wait: WaitOption = False, json: JsonOption = False) -> None:
        store = existing_run(run)
        waiting = waits_for_people(store, name, flow)
        standing = standing_of(store, waiting.slug)
        left = standing.tasks - standing.done if standing else 0
        close_project(store, waiting.slug, standing.tasks if standing else 0)
        resume_run(waiting.flow_run)
        told = f"Closed {waiting.slug} of run {run}: it goes on with the answers so far"
        told += f", {left} of {standing.tasks} tasks are open" if standing and left else ""
        answer(store, f"{told}.", json, wait, waiting.flow_run)

    close.__doc__ = f"""Stop waiting for people: go on with the answers so far.

    Answers that come later do not count; what is missing is counted and shown.

    Example: `abcdlink {name} close spring-news`
    """
    return close


def answer(store: Store, told: str, json: bool, wait: bool, resumed: str) -> None:
    """Say what was done; with ``wait``, what now when the flow run that was resumed stands still again."""
    if wait:
        from tasks.runs import wait_while_working

        if not json:
            say(told)
        wait_while_working(store, resumed)
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
        msg = f"run {store.key!r} is not waiting for anyone in {name}"
        raise InputError(msg, f"`abcdlink status {store.key}` says what it waits for")
    return waiting


def resume_run(flow_run: str, form: dict[str, Any] | None = None) -> None:
    """Resume a run.

    Raises:
        InputError: when it is not suspended.
        ServiceError: when no Prefect server answers.
    """
    use_local_server()
    from tasks.runs import reach_server, resume

    reach_server()
    if not resume(flow_run, form):
        msg = f"the flow run {flow_run} is no longer suspended"
        raise InputError(msg, "look at it in the Prefect UI: it was resumed already, or it ended")
