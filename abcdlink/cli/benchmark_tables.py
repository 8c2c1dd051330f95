"""What the command ``benchmark`` prints and writes: costs before, tables, JSON, pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from abcdlink.cli.output import err, print_rows, print_table, say
from abcdlink.linking.records import Aim

if TYPE_CHECKING:
    from markupsafe import Markup

    from abcdlink.domain import Domain
    from abcdlink.evaluation.results import ApproachResult
    from abcdlink.stages.benchmark import Benchmark
    from abcdlink.stages.benchmark_corpora import Overview
    from abcdlink.stages.estimate import CostEstimate
    from abcdlink.stages.plan import BenchmarkPlan
    from abcdlink.store import Store

LLM_COLUMNS = ("approach", "P", "R", "F1", "95 % interval", "answered", "minus retriever", "95 % interval", "p", "cost")


def say_cost(found: CostEstimate, run: str) -> None:
    """Print what is still to be asked of the LLMs, by model."""
    rows = []
    for model, one in found.models.items():
        cost: dict[str, object] = {"cost, at most": "unknown: no prices"} if model in found.priceless else {}
        time = "" if not one.calls else "unknown" if one.seconds is None else _duration(one.seconds)
        rows.append({"model": model, **one.row, **cost, "time": time})
    print_rows(f"{run}: what is still to be asked of the LLMs", rows, to=err)


def _duration(seconds: float) -> str:
    minutes = seconds / 60
    return f"{seconds:.0f} s" if minutes < 2 else f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.1f} h"  # noqa: PLR2004


def print_corpus(corpus: str, one: Benchmark, plan: BenchmarkPlan, definition: str) -> None:
    """Print the tables of one corpus, and what was left out."""
    from abcdlink.evaluation.comparisons import average_f1

    title = (
        f"{corpus}: {one.pairs} pairs, {one.sources} sources with links; percent, P@k as {definition}, "
        f"rules fitted for {'all sources' if plan.aim is Aim.ALL_SOURCES else 'sources with links'}"
    )
    print_rows(title, [result.row for result in one.approaches])
    if len(plan.cutoffs) > 1:
        averages = average_f1(one.approaches, plan.cutoffs)
        at = ", ".join(map(str, plan.cutoffs))
        rows = [(name, f"{100 * value:.2f}") for name, value in averages.items()]
        print_table(f"{corpus}: mean of F1 over k = {at}", ("", "average F1"), rows)
    with_llm = [result for result in one.approaches if result.outcomes]
    if with_llm:
        told = f"{corpus}: LLMs; unanswered questions count as wrong"
        drawn = next((result for result in with_llm if result.sampled_from), None)
        if drawn and plan.llm:
            told += f"; on {drawn.sources} of {drawn.sampled_from} sources with links, drawn with seed {plan.llm.seed}"
        print_table(told, LLM_COLUMNS, llm_rows(one))
    for note in one.notes:
        say(f"{corpus}: {note}")


def llm_rows(one: Benchmark) -> Iterator[tuple[str, ...]]:
    """Yield a row for each approach with an LLM: its scores, and the difference to its retriever's best cutoff."""
    against = {comparison.b: comparison for comparison in one.llm_against_retriever}
    for result in one.approaches:
        if not result.outcomes:
            continue
        name, low_high = result.approach.name, ("", "", "")
        if name in against:
            found = against[name].difference
            # The comparison is retriever minus LLM: reversed here.
            low_high = (f"{-100 * found.mean:+.2f}", _interval((-found.high, -found.low), "+"), f"{found.p:.4f}")
        scores = (result.precision, result.recall, result.f1_of_all)
        answered = f"{result.answered} of {result.sources}"
        cells = (*(f"{100 * value:.2f}" for value in scores), _interval(result.interval), answered)
        yield (name, *cells, *low_high, f"{result.cost:.4f}")


def _interval(ends: tuple[float, float] | None, sign: str = "") -> str:
    return "" if ends is None else " to ".join(f"{100 * end:{sign}.2f}" for end in ends)


def write_pictures(store: Store, overview: Overview) -> None:
    """Write the pictures of every corpus, and of all together where there are several, into the run."""
    from abcdlink.report.pictures import as_file
    from abcdlink.report.pictures.of_benchmark import benchmark_pictures
    from abcdlink.report.pictures.of_llms import CostPoint, quality_against_cost

    pictures: dict[str, Markup] = {}
    for corpus, one in overview.corpora.items():
        best_first = sorted(one.approaches, key=lambda result: -result.f1_of_all)
        pictures |= {f"{corpus}, {title}": picture for title, picture in benchmark_pictures(best_first).items()}
    if len(overview.corpora) > 1:
        points = [CostPoint(one.name, one.seconds_per_1000_pairs, one.f1) for one in overview.across]
        if some := [point for point in points if point.cost > 0]:
            pictures["all corpora, F1 against seconds"] = quality_against_cost(some, "seconds")
    for title, picture in pictures.items():
        store.write_text(f"benchmarks/pictures/{title}.svg", as_file(picture))
    say(f"Pictures: {store.where('benchmarks/pictures')}")


def print_overview(overview: Overview) -> None:
    """Print the tables that compare corpora, where there are several."""
    if len(overview.corpora) < 2:  # noqa: PLR2004 - two are several
        return
    cutoffs = sorted({k for row in overview.retrievers for k in row.recall})
    columns = ("retriever", "corpus", "average F1", *(f"R@{k}" for k in cutoffs))
    rows = [
        (
            row.retriever,
            row.corpus or "overall",
            "" if row.average_f1 is None else f"{100 * row.average_f1:.2f}",
            *(f"{100 * row.recall[k]:.2f}" if k in row.recall else "" for k in cutoffs),
        )
        for row in overview.retrievers
    ]
    print_table("Retrievers and learned linkers; overall: mean of the corpora", columns, rows, texts=2)
    title = f"Overall: means of {len(overview.corpora)} corpora; unanswered questions count as wrong"
    print_rows(title, [one.row for one in overview.across])


def as_json(overview: Overview, plan: BenchmarkPlan, definition: str, domains: Mapping[str, Domain]) -> dict[str, Any]:
    """Return the object of one corpus, or one with an object for each corpus and the overview."""
    from abcdlink.evaluation.comparisons import average_f1

    def of_one(corpus: str, one: Benchmark) -> dict[str, Any]:
        return {
            "dataset": corpus,
            "domain": overview.domains[corpus],
            "pairs": one.pairs,
            "sources": one.sources,
            "definition": definition,
            "aim": plan.aim,
            "approaches": {result.approach.name: _result_as_json(result) for result in one.approaches},
            "average_f1": average_f1(one.approaches, plan.cutoffs),
            "llm_against_retriever": [found.model_dump(mode="json") for found in one.llm_against_retriever],
            "notes": one.notes,
            "left_out": [refusal.model_dump(mode="json") for refusal in (*one.left_out, *one.undecided)],
        }

    each = [of_one(corpus, one) for corpus, one in overview.corpora.items()]
    if len(domains) == 1:
        return each[0]
    across = [one.model_dump(mode="json") for one in overview.across]
    retrievers = [row.model_dump(mode="json") for row in overview.retrievers]
    return {"corpora": each, "overall": across, "retrievers": retrievers}


def _result_as_json(result: ApproachResult) -> dict[str, Any]:
    excluded = {"approach"} if result.outcomes else {"approach", "outcomes", "prompt_hash", "cost", "sampled_from"}
    return result.model_dump(mode="json", exclude=excluded)
