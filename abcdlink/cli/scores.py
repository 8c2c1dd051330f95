"""Commands on the benchmark of a run: ``scores``, ``compare`` and ``errors``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from abcdlink.cli.benchmark import COLUMNS, row_of
from abcdlink.cli.output import JsonOption, RunArgument, out, print_json, print_table, say
from abcdlink.evaluation.breakdowns import Trait
from abcdlink.evaluation.comparisons import Unit
from abcdlink.evaluation.errors import Pattern

if TYPE_CHECKING:
    from abcdlink.evaluation.comparisons import Comparison

UnitOption = Annotated[Unit, typer.Option("--unit", help="What the bootstrap draws: source sentences, or whole pairs.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("scores")(scores)
    app.command("compare")(compare)
    app.command("errors")(errors)


def scores(
    run: RunArgument,
    by: Annotated[
        Trait | None, typer.Option(help="Tell source sentences apart by links, position or target length.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Show what the benchmark of a run says of each approach, or on which source sentences it fails.

    Example: `abcdlink scores spring-news --by links`
    """
    from abcdlink.corpus.io import read_corpus_from
    from abcdlink.evaluation.breakdowns import break_down
    from abcdlink.layout import SCORES, SYNTHETIC
    from abcdlink.stages.benchmark import read_benchmark
    from abcdlink.store import existing_run

    store = existing_run(run)
    result = read_benchmark(store)
    title = f"{run}: {result.pairs} synthetic pairs, {result.sources} sources with links; percent"
    if by is not None:
        table = break_down(store.read_table(SCORES), read_corpus_from(store, SYNTHETIC), by)
        if json:
            print_json({"run": run, "by": by.value, "rows": table.to_dict("records")})
            return
        rows = [
            (
                *(row[name] for name in ("approach", "bin", "sources")),
                *(f"{100 * row[name]:.2f}" for name in ("precision", "recall", "f1_of_all")),
            )
            for row in table.to_dict("records")
        ]
        print_table(title, ("approach", by.value, "sources", "precision", "recall", "F1"), rows, texts=2)
        return
    if json:
        print_json(result.model_dump(mode="json"))
        return
    print_table(title, COLUMNS, map(row_of, sorted(result.approaches, key=lambda one: -one.f1_of_all)))
    for refusal in result.left_out:
        say(f"Left out: {refusal.where}: {refusal.reason}")


def compare(
    run: RunArgument,
    approaches: Annotated[
        list[str] | None,
        typer.Argument(help="Two names or more: the first is compared with the others. Default: the best."),
    ] = None,
    unit: UnitOption = "source",
    json: JsonOption = False,
) -> None:
    """Compare approaches of a run's benchmark: difference in mean F1, its 95 % interval, and p.

    Example: `abcdlink compare spring-news hybrid@3 bm25@3 --unit pair`
    """
    from abcdlink.evaluation.comparisons import compare_one_with_many, compare_with_best
    from abcdlink.layout import SCORES
    from abcdlink.store import existing_run

    store = existing_run(run)
    store.require(SCORES, "benchmark")
    table = store.read_table(SCORES)
    first, *others = approaches or [""]
    found = compare_one_with_many(table, first, others, unit) if others else compare_with_best(table, unit)
    if json:
        print_json({"run": run, "unit": unit, "comparisons": [one.model_dump(mode="json") for one in found]})
        return
    if not found:
        say("There is nothing to compare: the benchmark scored one approach.")
        return
    title = f"{run}: F1 of {found[0].a} minus F1 of ..., in points; p corrected by Holm; {unit}s drawn"
    print_table(title, ("", "difference", "95 % interval", "p"), map(_row, found))


def _row(one: Comparison) -> tuple[str, ...]:
    mean, low, high = (100 * value for value in (one.difference.mean, one.difference.low, one.difference.high))
    return (one.b, f"{mean:+.2f}", f"{low:+.2f} to {high:+.2f}", f"{one.p_adjusted:.4f}")


def errors(
    run: RunArgument,
    approach: Annotated[str, typer.Argument(help="Name of an approach, as `abcdlink scores` lists it.")],
    most: Annotated[int, typer.Option(min=0, help="Show so many errors.")] = 10,
    pattern: Annotated[Pattern | None, typer.Option(help="Show only errors of this pattern.")] = None,
    json: JsonOption = False,
) -> None:
    """Show what an approach got wrong on the synthetic pairs, sorted into patterns.

    Example: `abcdlink errors spring-news hybrid@3 --pattern "scattered targets"`
    """
    from rich.markup import escape

    from abcdlink.stages.errors import errors_of
    from abcdlink.store import existing_run

    found = errors_of(existing_run(run), approach)
    if json:
        counts = {kind.value: {p.value: n for p, n in by.items()} for kind, by in found.counts().items()}
        print_json({**found.model_dump(mode="json"), "counts": counts})
        return
    counts_by_kind = found.counts()
    rows = [(p.value, *(by[p] for by in counts_by_kind.values())) for p in Pattern]
    print_table(f"{run}: {approach}, {found.sources} source sentences", ("pattern", *counts_by_kind), rows)
    if found.unanswered:
        say(f"{found.unanswered} source sentences were not answered; what they lack is not listed.")
    for error in [error for error in found.errors if pattern in (None, *error.patterns)][:most]:
        out.rule(escape(f"{error.kind}: {error.pair}, {error.source} -> {error.target}"))
        out.print(escape(f"{', '.join(error.patterns)}; gold links: {', '.join(error.gold) or 'none'}"), style="dim")
        for marked, around in ((error.source, error.around_source), (error.target, error.around_target)):
            for sentence in around:
                style = "bold" if sentence.id == marked else ""
                out.print(escape(f"{sentence.id:>4}  {sentence.text}"), style=style)
            out.print()
