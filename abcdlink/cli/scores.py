"""Commands that show scores: those of a run, and with ``reproduce`` those of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from abcdlink.cli.benchmark_tables import say_cost
from abcdlink.cli.output import JsonOption, RunArgument, listed, out, print_json, print_rows, print_table, say
from abcdlink.evaluation.comparisons import Trait, Unit
from abcdlink.evaluation.errors import ErrorPattern
from abcdlink.progress import terminal

if TYPE_CHECKING:
    import pandas as pd

    from abcdlink.reproduction import Figure, Reproduction


UnitOption = Annotated[Unit, typer.Option("--unit", help="What the bootstrap draws: source sentences, or whole pairs.")]


def scores(
    run: RunArgument,
    by: Annotated[
        Trait | None, typer.Option(help="Group source sentences by links, position or target length.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Show each approach's scores in a run's benchmark, also by kind of source sentence.

    Example: `abcdlink scores spring-news --by links`
    """
    from abcdlink.corpus.io import read_corpus_from
    from abcdlink.evaluation.comparisons import break_down
    from abcdlink.layout import SYNTHETIC
    from abcdlink.stages.benchmark import read_benchmark, read_scores
    from abcdlink.store import existing_run

    store = existing_run(run)
    result = read_benchmark(store)
    best_first = sorted(result.approaches, key=lambda one: -one.f1_of_all)
    if by is not None:
        table = break_down(read_scores(store), read_corpus_from(store, SYNTHETIC), by)
        if json:
            print_json({"run": run, "by": by.value, "rows": table.to_dict("records")})
            return
        _print_by(f"{run}: F1 by {by.value}, failures wrong, percent", table, [one.approach.name for one in best_first])
        return
    if json:
        print_json(result.model_dump(mode="json"))
        return
    title = f"{run}: {result.pairs} synthetic pairs, {result.sources} sources with links; percent"
    print_rows(title, [one.row for one in best_first])
    with_llm = [one.llm_row(result.usage.get(one.approach.asked.name)) for one in best_first if one.outcomes]
    if with_llm:
        print_rows(f"{run}: the LLM's answers, and what they cost", with_llm, texts=2)
    for note in result.notes:
        say(note)


def _print_by(title: str, table: pd.DataFrame, names: list[str]) -> None:
    """Print F1 with a row for each approach and a column for each kind of source sentence."""
    sizes: dict[str, int] = {}
    f1: dict[str, list[str]] = {name: [] for name in names}
    # All approaches were scored on the same sources, so each has the same kinds in the same order.
    for row in table.to_dict("records"):
        sizes[row["bin"]] = row["sources"]
        f1[row["approach"]].append(f"{100 * row['f1_of_all']:.2f}")
    columns = ("approach", *(f"{kind} ({size} sources)" for kind, size in sizes.items()))
    print_table(title, columns, [(name, *cells) for name, cells in f1.items()])


def compare(
    run: RunArgument,
    approaches: Annotated[
        list[str] | None,
        typer.Argument(help="Names: the first is compared with the others, or with all. Default: the best one."),
    ] = None,
    unit: UnitOption = "source",
    json: JsonOption = False,
) -> None:
    """Compare approaches of a run's benchmark: difference in mean F1, its 95 % interval, and p.

    Example: `abcdlink compare spring-news hybrid@3 bm25@3 --unit pair`
    """
    from abcdlink.evaluation.comparisons import compare_one_with_many, compare_with_best
    from abcdlink.stages.benchmark import read_scores
    from abcdlink.store import existing_run

    store = existing_run(run)
    table = read_scores(store)
    if approaches:
        first, *others = approaches
        others = others or [name for name in dict.fromkeys(table["approach"]) if name != first]
        found = compare_one_with_many(table, first, others, unit)
    else:
        found = compare_with_best(table, unit)
    if json:
        print_json({"run": run, "unit": unit, "comparisons": [one.model_dump(mode="json") for one in found]})
        return
    if not found:
        say("There is nothing to compare: the benchmark scored only one approach.")
        return
    title = f"{run}: F1 of {found[0].a}"
    print_rows(title, [one.row for one in found])
    drawn = "source sentences" if unit == "source" else "pairs"
    say(
        f"In percentage points; unanswered questions count as wrong. Intervals by bootstrap over {drawn}; "
        f"p is corrected for {len(found)} comparison{'s' if len(found) > 1 else ''} (Holm)."
    )


def errors(
    run: RunArgument,
    approach: Annotated[str, typer.Argument(help="Name of an approach, as `abcdlink scores` lists it.")],
    most: Annotated[int, typer.Option(min=0, help="Number of errors to show.")] = 10,
    pattern: Annotated[ErrorPattern | None, typer.Option(help="Show only errors of this pattern.")] = None,
    json: JsonOption = False,
) -> None:
    """Show what an approach got wrong on the synthetic pairs, sorted into patterns.

    Example: `abcdlink errors spring-news hybrid@3 --pattern "scattered targets"`
    """
    from rich.markup import escape

    from abcdlink.stages.shortlist import errors_of
    from abcdlink.store import existing_run

    found = errors_of(existing_run(run), approach)
    if json:
        counts = {kind.value: {p.value: n for p, n in by.items()} for kind, by in found.counts().items()}
        print_json({**found.model_dump(mode="json"), "counts": counts})
        return
    counts_by_kind = found.counts()
    rows = [(p.value, p.rule, *(by[p] for by in counts_by_kind.values())) for p in ErrorPattern]
    columns = ("pattern", "its rule", *(f"{kind}s" for kind in counts_by_kind))
    print_table(f"{run}: what {approach} got wrong on {found.sources} source sentences", columns, rows, texts=2)
    say("An error that shows several patterns is counted for each of them.")
    if found.unanswered:
        say(f"{found.unanswered} source sentences were not answered; links missed there are not listed.")
    for error in [error for error in found.errors if pattern in (None, *error.patterns)][:most]:
        out.rule(escape(f"{error.kind}: {error.pair}, {error.source} -> {error.target}"))
        out.print(escape(f"{', '.join(error.patterns)}; gold links: {', '.join(error.gold) or 'none'}"), style="dim")
        for marked, around in ((error.source, error.around_source), (error.target, error.around_target)):
            for sentence in around:
                here = sentence.id == marked
                line = f"{'>' if here else ' '} {sentence.id:>4}  {sentence.text}"
                out.print(escape(line), style="bold" if here else "")
            out.print()


def reproduce(
    data: Annotated[Path, typer.Argument(help="Folder with paper_tables.json and the released data sets.")],
    retrievers: Annotated[str | None, typer.Option(help="Comma-separated names; default: all of the paper's.")] = None,
    llm: Annotated[
        str, typer.Option(help="LLM profiles for the LLM tables; default: the linkers whose endpoint is set.")
    ] = "",
    run: Annotated[
        str, typer.Option(help="Prefix of the keys of the runs that keep the LLMs' decisions.")
    ] = "reproduce",
    sources: Annotated[
        int | None, typer.Option(min=1, help="Ask LLMs about at most N source sentences of each data set, at random.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Compute the paper's tables, print them beside the published figures, and say why the rest was not run.

    LLM tables are run where an endpoint is set; what they will cost is printed before anything is asked.

    Example: `abcdlink reproduce ../shared/data --retrievers bm25`
    """
    from abcdlink.reproduction import LLMTablesPlan
    from abcdlink.reproduction import reproduce as compute

    llms = LLMTablesPlan(models=tuple(listed(llm)), run=run, sources=sources, tell=say_cost)

    with terminal() as progress:
        result = compute(data, None if retrievers is None else listed(retrievers), progress, llms)
    if json:
        print_json({**result.model_dump(mode="json"), "compared": len(result.compared), "equal": result.equal})
    else:
        _show_reproduction(result)


def _show_reproduction(result: Reproduction) -> None:
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
