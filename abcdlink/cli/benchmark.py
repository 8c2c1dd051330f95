"""Command ``benchmark``: score retrievers and learned linkers on a corpus with gold links."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from abcdlink.cli.output import JsonOption, listed, print_json, print_table
from abcdlink.errors import InputError
from abcdlink.evaluation.scores import Definition
from abcdlink.linking.records import Aim
from abcdlink.progress import terminal

if TYPE_CHECKING:
    from abcdlink.corpus.records import Corpus, Pair
    from abcdlink.evaluation.scores import ApproachResult
    from abcdlink.linking.fitted import Folds
    from abcdlink.stages.plan import BenchmarkPlan


AimOption = Annotated[
    Aim,
    typer.Option(
        help="What rules are fitted for: mean F1 over source sentences with links (paper), or F1 over the links of all "
        "source sentences, of which one may have none (all-sources)."
    ),
]
COLUMNS = ("approach", "P", "R", "F1", "F1, all sources", "false links", "calibration error", "seconds", "cut")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("benchmark")(benchmark)


def benchmark(
    corpus: Annotated[Path, typer.Argument(help="Corpus folder with gold links, as `abcdlink import` writes it.")],
    retrievers: Annotated[
        str, typer.Option(help="Comma-separated names of retrievers and learned linkers.")
    ] = "bm25,all-minilm-l6-v2,hybrid",
    cutoffs: Annotated[
        str, typer.Option(help="Comma-separated values of k, and rules: threshold, share, gap, softmax, expected-f1.")
    ] = "1,3,5,7,10,20",
    definition: Annotated[
        Definition,
        typer.Option(help="Of precision at k: hits / min(k, target sentences), or hits / k (common)."),
    ] = "paper",
    aim: AimOption = Aim.PAPER,
    folds: Annotated[int, typer.Option(min=3, help="Parts of the pairs, where something is fitted.")] = 5,
    group: Annotated[
        str,
        typer.Option(
            help="Regular expression; pairs whose ids begin with the same match are in one fold. Default: pairs that "
            "share a document are."
        ),
    ] = "",
    first_pairs: Annotated[int | None, typer.Option(min=1, help="Only the first N pairs in file order.")] = None,
    json: JsonOption = False,
) -> None:
    """Score retrievers and learned linkers on a corpus with gold links.

    Learned linkers and cutoffs by rule are fitted on other folds of the corpus than they are scored on.

    Example: `abcdlink benchmark corpus --retrievers bm25,learned-logistic --cutoffs 1,3,expected-f1`
    """
    from abcdlink.api import plan_of
    from abcdlink.corpus.io import read_corpus
    from abcdlink.evaluation.breakdowns import average_f1
    from abcdlink.linking.learned import base_retrievers
    from abcdlink.stages.benchmark_corpus import benchmark_corpus

    plan = plan_of(listed(retrievers), (), listed(cutoffs), definition, folds, aim)
    for name in plan.learned:
        base_retrievers(name)  # a name that cannot be is found before anything is ranked
    data = read_corpus(corpus).first_pairs(first_pairs)
    if data.source_count == 0:
        msg = f"{corpus} holds no gold links"
        raise InputError(msg, "benchmark a corpus with links, such as the synthetic one of a run")
    parts = make_folds(data, plan, group) if plan.learned or plan.rules else None
    with terminal() as progress:
        results = [scored.result for scored in benchmark_corpus(data, plan, parts, progress)]
    averages = average_f1(results, plan.cutoffs)
    if json:
        print_json(
            {
                "dataset": data.name,
                "pairs": len(data.pairs),
                "sources": data.source_count,
                "definition": definition,
                "aim": aim,
                "approaches": {result.approach.name: _as_json(result) for result in results},
                "average_f1": averages,
            }
        )
        return
    title = (
        f"{data.name}: {len(data.pairs)} pairs, {data.source_count} sources with links; percent, P@k as {definition}, "
        f"rules fitted for {'all sources' if aim is Aim.ALL_SOURCES else 'sources with links'}"
    )
    print_table(title, COLUMNS, map(row_of, results))
    at = ", ".join(map(str, plan.cutoffs))
    if len(plan.cutoffs) > 1:
        rows = [(name, f"{100 * value:.2f}") for name, value in averages.items()]
        print_table(f"Mean of F1 over k = {at}", ("", "average F1"), rows)


def make_folds(corpus: Corpus, plan: BenchmarkPlan, group: str) -> Folds:
    """Divide the pairs, those of one group never apart; ``InputError`` when the expression cannot be used."""
    from abcdlink.stages.score import divide

    try:
        expression = re.compile(group)
    except re.error as error:
        msg = f"{group!r} is no regular expression: {error}"
        raise InputError(msg, "give one that matches the beginning of every pair's id") from None

    def group_of(pair: Pair) -> str:
        found = expression.match(pair.id)
        if not found:
            msg = f"the id of the pair {pair.id!r} does not begin with {group!r}"
            raise InputError(msg, "give an expression that matches the beginning of every pair's id")
        return found.group()

    # Not found out by dividing: there an error means that there are too few groups.
    for pair in corpus.pairs:
        group_of(pair)
    return divide(corpus, plan.folds, group_of if group else None)


def row_of(result: ApproachResult) -> tuple[str, ...]:
    """Return one row of the table."""
    scores = (result.precision, result.recall, result.f1, result.all_sources.f1)
    error = f"{100 * result.calibration.error:.0f}" if result.calibration else ""
    return (*score_cells(result, scores), error, f"{result.seconds:.1f}", str(result.cut))


def score_cells(result: ApproachResult, scores: Iterable[float]) -> tuple[str, ...]:
    """Return the cells that every table of approaches begins with: name, scores and false-link rate in percent."""
    false = result.all_sources.false_link_rate
    rate = "" if false is None else f"{100 * false:.1f}"
    return (result.approach.name, *(f"{100 * value:.2f}" for value in scores), rate)


def _as_json(result: ApproachResult) -> dict[str, Any]:
    return result.model_dump(mode="json", exclude={"approach", "outcomes", "prompt_hash"})
