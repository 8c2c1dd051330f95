"""The command ``reproduce``: the paper's figures beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from abcdlink.cli.output import JsonOption, listed, out, print_json, print_table
from abcdlink.progress import terminal

if TYPE_CHECKING:
    from abcdlink.reproduction import Figure, Reproduction


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("reproduce")(reproduce)


def reproduce(
    data: Annotated[Path, typer.Argument(help="Folder with paper_tables.json and the released data sets.")],
    retrievers: Annotated[str | None, typer.Option(help="Comma-separated names; default: all of the paper's.")] = None,
    json: JsonOption = False,
) -> None:
    """Compute what can be computed of the paper's tables and print it beside the printed figures.

    Example: `abcdlink reproduce ../shared/data --retrievers bm25`
    """
    from abcdlink.reproduction import reproduce as compute

    with terminal() as progress:
        result = compute(data, None if retrievers is None else listed(retrievers), progress)
    if json:
        print_json({**result.model_dump(mode="json"), "compared": len(result.compared), "equal": result.equal})
    else:
        show(result)


def show(result: Reproduction) -> None:
    """Print one table for each table and data set of the paper, then what is missing and why."""
    places: dict[str, list[Figure]] = {}
    for figure in result.figures:
        title = f"{figure.table}, {figure.dataset}" + f" ({figure.remark}: not compared)" * bool(figure.remark)
        places.setdefault(title, []).append(figure)
    for title, figures in places.items():
        print_table(title, ("row", "measure", "ours", "paper", "difference"), map(_cells, figures), texts=2)
    for gap in result.missing:
        out.print(escape(f"Missing: {gap.table}, {gap.dataset}, {gap.what}: {gap.reason}"), soft_wrap=True)
    for note in result.notes:
        out.print(escape(note), soft_wrap=True)
    summary = f"{result.equal} of {len(result.compared)} figures on the paper's own data are equal to the last digit."
    out.print(summary, soft_wrap=True)


def _cells(figure: Figure) -> tuple[str, ...]:
    numbers = (f"{value:.{figure.decimals}f}" for value in (figure.ours, figure.paper))
    difference = "" if figure.difference is None else f"{figure.difference:+.{figure.decimals}f}"
    return figure.row, figure.measure, *numbers, difference
