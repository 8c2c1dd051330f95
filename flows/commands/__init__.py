"""Commands that start and steer flows; here ``run reconcile``, ``run drops`` and ``demo``.

Prefect is imported inside the commands: it takes seconds, and ``--help`` must not.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from abcdlink.cli.benchmark import run_benchmark
from abcdlink.cli.output import JsonOption, say
from flows.commands import annotate, feedback, people, qualify, status
from flows.commands.starting import go_on, run_bootstrap, start, start_flow
from flows.commands.status import use_local_server


class Annotators(StrEnum):
    """Who judges in the demo."""

    SIMULATED = "simulated"
    HUMAN = "human"


AnnotatorsOption = Annotated[
    Annotators, typer.Option(help="simulated: programs; human: stop when it is people's turn and say what to open.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    run = typer.Typer(help="Start a flow on the Prefect server, or run stages here.", no_args_is_help=True)
    run.command("bootstrap")(run_bootstrap)
    run.command("benchmark")(run_benchmark)
    run.command("reconcile")(run_reconcile)
    run.command("drops")(run_drops)
    app.command("start")(start)
    app.add_typer(run, name="run")
    app.command("demo")(demo)
    app.command("continue")(go_on)
    status.register(app)
    annotate.register(app)
    feedback.register(app)
    qualify.register(app)
    people.register(app)


def run_reconcile(json: JsonOption = False) -> None:
    """Check all waiting runs now instead of at the next scheduled time.

    Example: `abcdlink run reconcile`
    """
    start_flow("reconcile/reconcile", {}, json)


def run_drops(
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until it is done; then say what came of each file so far.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Import new data now instead of at the next scheduled time.

    Example: `abcdlink run drops --wait`
    """
    from abcdlink.drops import accounts, open_source, waiting
    from abcdlink.settings import get_settings
    from abcdlink.stages.intake import base_of_drops

    settings = get_settings()  # those of now, which may be newer than the worker's
    open_source(settings.drops_source).files()  # an error here is seen, and one in the flow is not
    base_of_drops(settings.drops_run)
    flow_run = start_flow("drops/drops", {"run": settings.drops_run, "source": settings.drops_source}, json)
    if wait:
        from flows.drops import ledger_of
        from tasks.runs import wait_for

        wait_for(flow_run)
        for told in accounts(ledger_of(settings.drops_source)):
            say(told)
        for one in waiting(open_source(settings.drops_source), ledger_of(settings.drops_source)):
            say(f"{one.name}: waits, {one.reason}")
        say("Runs of new data are among all runs: abcdlink runs")
    elif not json:
        say("What was taken, and what cannot be used and why, is on that page; here with --wait.")


def demo(
    run: Annotated[
        str, typer.Option(help="Run key; the same key continues what is there. Default: demo, or demo-human.")
    ] = "",
    domain: Annotated[str, typer.Option(help="Name or path of a domain.")] = "news",
    pairs: Annotated[int, typer.Option(min=2, help="Natural pairs to annotate, half in each batch.")] = 4,
    documents: Annotated[int, typer.Option(min=1, help="Target documents to generate for.")] = 3,
    annotators: AnnotatorsOption = Annotators.SIMULATED,
) -> None:
    """Start everything and run the whole job on the shipped sample, with SIMULATED annotators or with people.

    Example: `abcdlink demo`
    """
    from services.commands import start_servers

    # The first start generates Prefect's password, which its client reads on import.
    stack = start_servers()
    use_local_server()
    from flows.demo import run_demo

    people = annotators is Annotators.HUMAN
    run_demo(stack, run or ("demo-human" if people else "demo"), domain, pairs, documents, people)
