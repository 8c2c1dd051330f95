"""Commands of the adjudication: ``run adjudicate``, ``adjudication``.

Prefect is imported inside the commands: it takes seconds, and ``--help`` must not.
"""

from __future__ import annotations

from typing import Annotated

import typer

from abcdlink.cli.output import JsonOption, RunArgument, RunDomainOption, print_json, print_table, say
from flows.commands.starting import start_flow


def register(app: typer.Typer, run: typer.Typer) -> None:
    """Add the commands; ``run``: the group of those that start a flow."""
    run.command("adjudicate")(run_adjudicate)
    app.command("adjudication")(adjudication)


def run_adjudicate(
    run: RunArgument,
    domain: RunDomainOption = "",
    batch: Annotated[
        list[int] | None, typer.Option(min=1, help="Only of this batch; may be given again. Default: all so far.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Ask a third person, or the annotators together, to decide where annotators differ.

    Example: `abcdlink run adjudicate spring-news`
    """
    from abcdlink.domain import domain_of
    from abcdlink.stages.adjudicate import judged_so_far
    from abcdlink.store import existing_run

    store, batches = existing_run(run), sorted(set(batch or []))
    domain_of(store, domain)
    judged_so_far(store, batches)
    start_flow("adjudicate/adjudicate", {"run": run, "domain": domain, "batches": batches}, json)


def adjudication(run: RunArgument, json: JsonOption = False) -> None:
    """Show what was decided where annotators differ, by method, and whom the decisions followed.

    Example: `abcdlink adjudication spring-news`
    """
    from abcdlink.stages.adjudicate import summary_of
    from abcdlink.store import existing_run

    summary = summary_of(existing_run(run))
    if json:
        print_json(summary.model_dump(mode="json"))
        return
    rows = [
        (one.method, one.disputed, one.to_link, one.to_no_link, one.open, _rate(one.before), _rate(one.after))
        for one in summary.rows
    ]
    columns = ("method", "disputed", "Link", "No Link", "open", "accepted by all", "links when adjudicated")
    print_table(f"{run}: adjudication", columns, rows)
    print_table(
        f"{run}: whom the decisions followed",
        ("annotator", "decided", "followed", "their own decision"),
        [(one.annotator, one.decided, one.followed, one.own) for one in summary.followed],
    )
    for one in summary.adjudicators:
        say(f"{one.adjudicator} decided {one.decided}, {one.consensus} of them by consensus or on their own judgment.")
    if summary.moot:
        say(f"{summary.moot} decisions are on candidates on which nobody differs any more.")


def _rate(rate: float | None) -> str:
    return "" if rate is None else f"{rate:.1%}"
