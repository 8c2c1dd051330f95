"""The command ``reproduce``: the paper's figures beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from abcdlink.cli.benchmark_tables import say_cost
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
    llm: Annotated[
        str, typer.Option(help="LLM profiles for the LLM tables; default: the linkers whose endpoint is set.")
    ] = "",
    run: Annotated[
        str, typer.Option(help="Beginning of the keys of the runs that LLMs' decisions are kept in.")
    ] = "reproduce",
    sources: Annotated[
        int | None, typer.Option(min=1, help="Ask LLMs about at most N source sentences of each data set, at random.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Compute the paper's tables, print them beside the published figures, and say why the rest was not run.

    LLM tables are run where an endpoint is set; what they will cost is said before anything is asked.

    Example: `abcdlink reproduce ../shared/data --retrievers bm25`
    """
    from abcdlink.reproduction import Asking
    from abcdlink.reproduction import reproduce as compute

    asking = Asking(models=tuple(listed(llm)), run=run, sources=sources, tell=say_cost)

    with terminal() as progress:
        result = compute(data, None if retrievers is None else listed(retrievers), progress, asking)
    if json:
        print_json({**result.model_dump(mode="json"), "compared": len(result.compared), "equal": result.equal})
    else:
        show(result)


def show(result: Reproduction) -> None:
    """Print one table for each table and data set of the paper, then what was not run and why."""
    places: dict[str, list[Figure]] = {}
    for figure in result.figures:
        title = f"{figure.table}, {figure.dataset}" + f" ({figure.remark}: not compared)" * bool(figure.remark)
        places.setdefault(title, []).append(figure)
    for title, figures in places.items():
        print_table(title, ("row", "measure", "ours", "paper", "difference"), map(_cells, figures), texts=2)
    for gap in result.missing:
        out.print(escape(f"Not run: {gap.table}, {gap.dataset}, {gap.what}: {gap.reason}"), soft_wrap=True)
    for note in result.notes:
        out.print(escape(note), soft_wrap=True)
    summary = f"{result.equal} of {len(result.compared)} figures on the paper's own data are equal to the last digit."
    out.print(summary, soft_wrap=True)


def _cells(figure: Figure) -> tuple[str, ...]:
    both = (figure.ours, figure.paper)
    numbers = ("" if value is None else f"{value:.{figure.decimals}f}" for value in both)
    difference = "" if figure.difference is None else f"{figure.difference:+.{figure.decimals}f}"
    return figure.row, figure.measure, *numbers, difference
