"""The commands of ``abcdlink`` that need Label Studio."""

from __future__ import annotations

from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command("simulate")(simulate)


def simulate(
    run: Annotated[str, typer.Argument(help="Run key: the name of the run.")],
    batch: Annotated[int, typer.Option(min=1, help="Number of the batch.")] = 1,
    accounts: Annotated[int, typer.Option(min=1, max=20, help="How many simulated annotators.")] = 2,
    seed: Annotated[int, typer.Option(help="Seed of their mistakes.")] = 13,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")] = False,
) -> None:
    """Let programs annotate a batch that lies in Label Studio, for demonstrations and tests.

    They are real accounts named simulated-N@simulated.invalid. They judge by word overlap with
    mistakes, and are marked as simulated wherever their judgments go.

    Example: abcdlink simulate my-run --batch 1
    """
    from rich.console import Console

    from abcdlink.settings import get_settings
    from labelstudio_config.simulate import simulate_annotators

    settings = get_settings()
    messages = Console(stderr=True)
    messages.print(f"{accounts} simulated annotators work on batch {batch} of run {run!r} ...", highlight=False)
    result = simulate_annotators(
        settings.label_studio_url, settings.label_studio_token.get_secret_value(), run, batch, accounts, seed
    )
    if as_json:
        typer.echo(result.model_dump_json())
        return
    for account, count in result.submitted.items():
        messages.print(f"{account} submitted {count} tasks", highlight=False)
