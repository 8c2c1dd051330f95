"""Command ``exhaustive show``: what the approaches find of the links of exhaustively judged sources."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from abcdlink.cli.output import JsonOption, RunArgument, RunDomainOption, listed, print_json, print_rows, say
from abcdlink.judgments import LabelRule


def show(
    run: RunArgument,
    domain: RunDomainOption = "",
    rule: Annotated[
        Literal["both", "majority"],
        typer.Option("--rule", help="Who must call a target a link: all who judged it, or most."),
    ] = "both",
    approaches: Annotated[
        str, typer.Option("--approaches", help="Others of the benchmark, by name, whose rankings the run has.")
    ] = "",
    json: JsonOption = False,
) -> None:
    """Measure true recall, precision and F1 on the sources whose every target sentence was judged.

    Example: `abcdlink exhaustive show spring-news --rule majority`
    """
    from abcdlink.domain import domain_of
    from abcdlink.exhaustive import rows_of
    from abcdlink.stages.exhaustive import measure_recall
    from abcdlink.store import existing_run

    store = existing_run(run)
    result = measure_recall(store, domain_of(store, domain), LabelRule(rule), listed(approaches))
    if json:
        print_json(result.model_dump(mode="json"))
        return
    print_rows(f"{run}: true recall", rows_of(result), texts=3)
    for sentence in result.words:
        say(f"{sentence}.")
