"""The commands of ``abcdlink`` that need Label Studio."""

from __future__ import annotations

from typing import Annotated

import typer

from abcdlink.cli.output import JsonOption, RunArgument, print_json, print_table, say


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command("simulate")(simulate)


def simulate(
    run: RunArgument,
    batch: Annotated[int, typer.Option(min=1, help="Number of the batch.")] = 1,
    accounts: Annotated[int, typer.Option(min=1, max=20, help="How many simulated annotators.")] = 2,
    seed: Annotated[int, typer.Option(help="Seed of their mistakes.")] = 13,
    json: JsonOption = False,
) -> None:
    """Let programs annotate a batch that is in Label Studio, for demonstrations and tests.

    They are real accounts named simulated-N@simulated.invalid that judge as the pairs' gold links
    say, with seeded mistakes: the first is strict, the last lenient, and from batch 2 on all err half as
    often. They are marked as simulated in the manifest, the report and the tags of the run.

    Example: `abcdlink simulate demo --batch 1`
    """
    from abcdlink.settings import get_settings
    from abcdlink.store import existing_run
    from labelstudio_config.simulate import simulate_batch

    store, settings = existing_run(run), get_settings()
    url, token = settings.label_studio_url, settings.label_studio_token.get_secret_value()
    say(f"{accounts} simulated annotators work on batch {batch} of run {run!r} at {url}")
    result = simulate_batch(store, url, token, batch, accounts, seed)
    if json:
        print_json(result.model_dump())
        return
    print_table(f"{run}: batch {batch}", ("account", "tasks submitted"), list(result.submitted.items()))
