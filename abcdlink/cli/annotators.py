"""Commands on the people of a run: ``annotators show`` and ``annotators forget``."""

from __future__ import annotations

from typing import Annotated

import typer

from abcdlink.cli.output import JsonOption, RunArgument, print_json, print_table, say


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(no_args_is_help=True)
    group.command("show")(show)
    group.command("forget")(forget)
    app.add_typer(group, name="annotators", help="Accounts and pseudonyms; removal of personal data.")


def show(run: RunArgument, json: JsonOption = False) -> None:
    """Show who is behind each pseudonym. This is personal data, for the coordinator.

    Example: `abcdlink annotators show spring`
    """
    from abcdlink.annotators import people_of
    from abcdlink.store import existing_run

    people = people_of(existing_run(run))
    if json:
        print_json({"run": run, "people": [one.model_dump() for one in people]})
    else:
        rows = [(one.annotator, one.account, "program" if one.simulated else "person") for one in people]
        print_table(f"{run}: people", ("pseudonym", "account", "who"), rows)


def forget(
    run: RunArgument,
    account: Annotated[str, typer.Argument(help="E-mail address of the account.")],
) -> None:
    """Remove an annotator's account from everything that a finished run holds; judgments and pseudonym stay.

    Example: `abcdlink annotators forget spring ada@example.org`
    """
    from abcdlink.annotators import forget as remove
    from abcdlink.store import existing_run

    names = remove(existing_run(run), account)
    say(f"Removed {account} from {len(names)} files of run {run}.")
    say("The account itself, with its record of their tasks, is still in Label Studio: delete it there.")
