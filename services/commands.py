"""Commands for the servers of this machine: ``up``, ``down`` and ``doctor``."""

from __future__ import annotations

import sys

import typer

from abcdlink.cli.output import JsonOption, print_json, print_table, say
from abcdlink.settings import get_settings
from services import Result, Stack


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("up")(up)
    app.command("down")(down)
    app.command("doctor")(doctor)


def start_servers() -> Stack:
    """Start what is not running yet, with progress bars, and reload the settings that this generated."""
    from abcdlink.progress import terminal
    from services.start import up as start

    with terminal() as progress:
        stack = start(get_settings(), progress)
    get_settings.cache_clear()  # the first start generates the token of Label Studio
    return stack


def up(json: JsonOption = False) -> None:
    """Start Label Studio, the Prefect server with its worker and watcher, and the embedded LLM unless another is set.

    Example: `abcdlink up`
    """
    show(start_servers(), json)


def down(json: JsonOption = False) -> None:
    """Stop what `abcdlink up` started. Runs, annotations and secrets are kept.

    Example: `abcdlink down`
    """
    from services.start import down as stop

    show(stop(get_settings()), json)


def show_servers(json: bool) -> None:
    """Show which servers are running, and where; exit with 1 if one is not running."""
    from services.state import status as look

    stack = look(get_settings())
    show(stack, json)
    if not stack.ready:
        sys.exit(1)


def show(stack: Stack, json: bool) -> None:
    """Print the state of the servers."""
    if json:
        print_json(stack.model_dump(mode="json"))
        return
    rows = [(service.name, service.state, service.url, service.detail) for service in stack.services]
    print_table(f"Servers of {get_settings().home.resolve()}", ("server", "state", "address", ""), rows, texts=4)
    for line in (stack.login, *stack.notes):
        if line:
            say(line)


def doctor(json: JsonOption = False) -> None:
    """Check ports, versions, tokens, models and disk, and say how to fix problems; exits with 1 if a check fails.

    Example: `abcdlink doctor`
    """
    from services.checks import doctor as check_all

    checks = check_all(get_settings())
    if json:
        print_json({"checks": [check.model_dump(mode="json") for check in checks]})
    else:
        rows = [(check.name, check.result, check.what, check.hint) for check in checks]
        print_table("Doctor", ("check", "result", "found", "hint"), rows, texts=4)
    if any(check.result is Result.FAIL for check in checks):
        sys.exit(1)
