"""Command ``exhaustive show``: what the approaches find of the links of exhaustively judged sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from abcdlink.cli.output import JsonOption, RunArgument, RunDomainOption, listed, print_json, print_table, say
from abcdlink.export import LabelRule

if TYPE_CHECKING:
    from abcdlink.exhaustive import Recall
    from abcdlink.statistics import MeanInterval


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
    from abcdlink.stages.exhaustive import measure_recall
    from abcdlink.store import existing_run

    store = existing_run(run)
    result = measure_recall(store, domain_of(store, domain), LabelRule(rule), listed(approaches))
    if json:
        print_json(result.model_dump(mode="json"))
    else:
        print_recall(result, run)


def print_recall(result: Recall, title: str) -> None:
    """Print one table of all rows, and say on what they are measured."""
    rows = [
        (
            row.approach,
            row.view.value,
            row.over.value,
            row.sources,
            row.unanswered,
            *(cell for value in row.measures for cell in _cells(value)),
            "" if row.false_links is None else f"{row.false_links:.1%} of {row.without_gold}",
        )
        for row in result.rows
    ]
    columns = ("approach", "lists", "mean over", "sources", "unanswered")
    measures = tuple(name for measure in ("recall", "precision", "F1") for name in (measure, "95 %"))
    print_table(f"{title}: true recall", (*columns, *measures, "false links"), rows, texts=3)
    say(
        f"{result.with_gold} sources with links ({result.links} links, rule {result.rule}), {result.without_gold} "
        f"without; {result.incomplete} not judged by enough annotators, {result.unlabelled} targets without a label."
    )
    if result.hours:
        say(f"{result.hours:.1f} hours of all annotators together, {result.links / result.hours:.0f} links an hour.")
    for note in result.notes:
        say(note)


def _cells(value: MeanInterval | None) -> tuple[str, str]:
    return ("", "") if value is None else (f"{value.mean:.3f}", f"{value.low:.2f} to {value.high:.2f}")
