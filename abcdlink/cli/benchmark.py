"""Command ``benchmark``: score retrievers, learned linkers and LLMs on any corpora with gold links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from abcdlink.cli.output import JsonOption, SettingOption, err, listed, print_json, print_table, say
from abcdlink.errors import InputError
from abcdlink.evaluation.scores import Definition
from abcdlink.linking.records import Aim, Scoring, Setup
from abcdlink.progress import terminal

if TYPE_CHECKING:
    from markupsafe import Markup

    from abcdlink.domain import Domain
    from abcdlink.evaluation.scores import ApproachResult
    from abcdlink.stages.benchmark import Benchmark
    from abcdlink.stages.benchmark_corpora import Overview
    from abcdlink.stages.estimate import CostEstimate
    from abcdlink.stages.plan import BenchmarkPlan, LLMPlan
    from abcdlink.store import Store


AimOption = Annotated[
    Aim,
    typer.Option(
        help="What rules are fitted for: mean F1 over source sentences with links (paper), or F1 over the links of all "
        "source sentences, of which one may have none (all-sources)."
    ),
]
COLUMNS = ("approach", "P", "R", "F1", "F1, all sources", "false links", "calibration error", "seconds", "cut")
LLM_COLUMNS = ("approach", "P", "R", "F1", "95 % interval", "answered", "minus retriever", "95 % interval", "p", "cost")
ACROSS_COLUMNS = ("approach", "P", "R", "F1", "seconds / 1,000 pairs", "cost / 1,000 pairs")
COST_COLUMNS = ("model", "calls", "answered before", "prompt tokens", "answer tokens, at most", "cost, at most", "time")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("benchmark")(benchmark)


def benchmark(
    corpora: Annotated[
        list[str],
        typer.Argument(metavar="CORPUS...", help="Corpus folders with gold links, as `abcdlink import` writes them."),
    ],
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
    llm: Annotated[
        str, typer.Option(help="LLM profiles that decide on candidates, comma-separated; `default`: ABCDLINK_LLM_...")
    ] = "",
    domain: Annotated[str, typer.Option(help="Domain of the corpora, or one for each of them, by commas.")] = "news",
    setting: SettingOption = None,
    base: Annotated[
        str, typer.Option(help="Whose candidates LLMs decide on; default: the retriever with the best average F1.")
    ] = "",
    candidates: Annotated[str, typer.Option(help="How many candidates; default: as the domain says.")] = "",
    setups: Annotated[str, typer.Option(help="Any of listwise, two-step, pairwise, llm-only.")] = "listwise",
    modes: Annotated[str, typer.Option(help="Prompt modes, 1 to 4.")] = "4",
    scorings: Annotated[str, typer.Option(help="Any of answer, votes, probability.")] = "answer",
    sources: Annotated[
        int | None, typer.Option(min=1, help="Ask LLMs about at most N source sentences of each corpus, at random.")
    ] = None,
    linked_only: Annotated[
        bool, typer.Option("--linked-only", help="Ask LLMs only about source sentences that have gold links.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of that sample.")] = 13,
    run: Annotated[
        str, typer.Option(help="Keep everything in this run and go on with it; needed where an LLM is asked.")
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what the LLMs would cost, and ask nothing.")] = False,
    json: JsonOption = False,
) -> None:
    """Score retrievers, learned linkers and LLMs on corpora with gold links.

    Learned linkers and cutoffs by rule are fitted on other folds of a corpus than they are scored on. What LLMs will
    cost is printed before they are asked. Start the same command again after an interruption: nothing is asked twice.

    Example: `abcdlink benchmark ecb f1000 --domain news,reviews --setting paper --llm phi-4,gpt-4o --run llms`
    """
    from abcdlink.api import plan_of
    from abcdlink.domain import in_setting
    from abcdlink.linking.learned import base_retrievers
    from abcdlink.stages.benchmark_corpora import prepare, run_benchmarks, take_corpora
    from abcdlink.stages.estimate import estimate_corpora
    from abcdlink.stages.execution import Here

    if bool(llm) and not run:
        msg = "an LLM is to be asked, and no run is named to keep its decisions in"
        raise InputError(msg, "name one with --run; the same name goes on with what is there")
    asked = None
    if llm:
        asked = _llm_plan(llm, base, candidates, setups, modes, scorings)
        asked = asked.model_copy(update={"sources": sources, "linked_only": linked_only, "seed": seed}).chosen()
    plan = plan_of(listed(retrievers), (), listed(cutoffs), definition, folds, aim, asked)
    for name in plan.all_learned:
        base_retrievers(name)  # an unknown name is found before anything is ranked
    references = [in_setting(reference, setting) for reference in listed(domain)]
    with terminal() as progress, _place(run) as store:
        execution = Here(progress)
        domains = take_corpora(store, [_absolute(one) for one in corpora], references, plan, first_pairs, group)
        if asked:
            plan = prepare(store, domains, plan, execution)
            cost = estimate_corpora(store, domains, plan, timed=not dry_run)
            _say_cost(cost, run)
            if dry_run:
                if json:
                    print_json(cost.model_dump(mode="json"))
                return
        overview = run_benchmarks(store, domains, plan, execution)
        if run:
            _write_pictures(store, overview)
    if json:
        print_json(_as_json(overview, plan, definition, domains))
        return
    for corpus, one in overview.corpora.items():
        _print_corpus(corpus, one, plan, definition)
    _print_overview(overview)


@contextmanager
def _place(run: str) -> Iterator[Store]:
    """Give the run, or one in a temporary folder."""
    from abcdlink.folders import open_folder
    from abcdlink.settings import get_settings
    from abcdlink.store import Store, open_run

    if run:
        yield open_run(run)
        return
    with TemporaryDirectory() as folder:
        key = f"temporary-{Path(folder).name}"
        yield Store(open_folder(folder), key)
        for lock in (get_settings().home / "locks").glob(f"{key}*"):
            lock.unlink(missing_ok=True)


def _absolute(corpus: str) -> str:
    return corpus if corpus == "sample" or "://" in corpus else str(Path(corpus).expanduser().absolute())


def _llm_plan(llm: str, base: str, candidates: str, setups: str, modes: str, scorings: str) -> LLMPlan:
    from abcdlink.stages.plan import LLMPlan

    def numbers(text: str, what: str) -> tuple[int, ...]:
        for one in listed(text):
            if not one.isdecimal():
                msg = f"{one!r} is not a {what}"
                raise InputError(msg, "give whole numbers, separated by commas")
        return tuple(int(one) for one in listed(text))

    for what, given, known in (("set-up", setups, Setup), ("scoring", scorings, Scoring)):
        if unknown := next((one for one in listed(given) if one not in set(known)), ""):
            msg = f"there is no {what} {unknown!r}"
            raise InputError(msg, f"use some of {', '.join(known)}")
    if wrong := next((mode for mode in numbers(modes, "prompt mode") if mode not in range(1, 5)), None):
        msg = f"there is no prompt mode {wrong}"
        raise InputError(msg, "use some of 1, 2, 3, 4")
    return LLMPlan(
        models=tuple(listed(llm)),
        retrievers=tuple(listed(base)),
        cutoffs=numbers(candidates, "number of candidates"),
        setups=tuple(Setup(one) for one in listed(setups)),
        prompt_modes=numbers(modes, "prompt mode"),
        scorings=tuple(Scoring(one) for one in listed(scorings)),
    )


def _say_cost(found: CostEstimate, run: str) -> None:
    """Say what the LLMs have still to be asked, by model."""
    rows = []
    for model, one in found.models.items():
        cost = "unknown: no prices" if model in found.priceless else f"{one.cost:.4g}"
        time = "" if not one.calls else "unknown" if one.seconds is None else _duration(one.seconds)
        tokens = (f"{one.prompt_tokens:,}", f"{one.completion_tokens:,}")
        rows.append((model, f"{one.calls:,}", f"{one.kept:,}", *tokens, cost, time))
    print_table(f"{run}: what the LLMs have still to be asked", COST_COLUMNS, rows, to=err)


def _duration(seconds: float) -> str:
    minutes = seconds / 60
    return f"{seconds:.0f} s" if minutes < 2 else f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.1f} h"  # noqa: PLR2004


def _print_corpus(corpus: str, one: Benchmark, plan: BenchmarkPlan, definition: str) -> None:
    from abcdlink.evaluation.breakdowns import average_f1

    title = (
        f"{corpus}: {one.pairs} pairs, {one.sources} sources with links; percent, P@k as {definition}, "
        f"rules fitted for {'all sources' if plan.aim is Aim.ALL_SOURCES else 'sources with links'}"
    )
    print_table(title, COLUMNS, map(row_of, one.approaches))
    if len(plan.cutoffs) > 1:
        averages = average_f1(one.approaches, plan.cutoffs)
        at = ", ".join(map(str, plan.cutoffs))
        rows = [(name, f"{100 * value:.2f}") for name, value in averages.items()]
        print_table(f"{corpus}: mean of F1 over k = {at}", ("", "average F1"), rows)
    with_llm = [result for result in one.approaches if result.outcomes]
    if with_llm:
        told = f"{corpus}: LLMs; what was not answered counts as wrong"
        if drawn := next((result for result in with_llm if result.sampled_from), None):
            told += f"; on {drawn.sources} of {drawn.sampled_from} sources with links, drawn with seed {_seed(plan)}"
        print_table(told, LLM_COLUMNS, llm_rows(one))
    for note in one.notes:
        say(f"{corpus}: {note}")


def _seed(plan: BenchmarkPlan) -> int | None:
    return plan.llm.seed if plan.llm else None


def llm_rows(one: Benchmark) -> Iterator[tuple[str, ...]]:
    """Yield a row for each approach with an LLM: its scores, and the difference to its retriever's best cutoff."""
    against = {comparison.b: comparison for comparison in one.llm_against_retriever}
    for result in one.approaches:
        if not result.outcomes:
            continue
        name, low_high = result.approach.name, ("", "", "")
        if name in against:
            found = against[name].difference
            # The comparison is of the retriever with the LLM: turned round here.
            low_high = (f"{-100 * found.mean:+.2f}", _interval((-found.high, -found.low), "+"), f"{found.p:.4f}")
        scores = (result.precision, result.recall, result.f1_of_all)
        answered = f"{result.answered} of {result.sources}"
        cells = (*(f"{100 * value:.2f}" for value in scores), _interval(result.interval), answered)
        yield (name, *cells, *low_high, f"{result.cost:.4f}")


def _interval(ends: tuple[float, float] | None, sign: str = "") -> str:
    return "" if ends is None else " to ".join(f"{100 * end:{sign}.2f}" for end in ends)


def _write_pictures(store: Store, overview: Overview) -> None:
    """Write the pictures of every corpus, and of all together where there are several, into the run."""
    from abcdlink.report.pictures import as_file, benchmark_pictures, quality_against_cost
    from abcdlink.report.pictures.of_llms import Point

    pictures: dict[str, Markup] = {}
    for corpus, one in overview.corpora.items():
        best_first = sorted(one.approaches, key=lambda result: -result.f1_of_all)
        pictures |= {f"{corpus}, {title}": picture for title, picture in benchmark_pictures(best_first).items()}
    if len(overview.corpora) > 1:
        points = [Point(one.name, one.seconds_per_1000_pairs, one.f1) for one in overview.across]
        if some := [point for point in points if point.cost > 0]:
            pictures["all corpora, F1 against seconds"] = quality_against_cost(some, "seconds")
    for title, picture in pictures.items():
        store.write_text(f"benchmarks/pictures/{title}.svg", as_file(picture))
    say(f"Pictures: {store.where('benchmarks/pictures')}")


def _print_overview(overview: Overview) -> None:
    """Print what stands side by side where there are several corpora."""
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
    print_table(
        f"Overall: means of {len(overview.corpora)} corpora; what was not answered counts as wrong",
        ACROSS_COLUMNS,
        [
            (
                one.name,
                *(f"{100 * value:.2f}" for value in (one.precision, one.recall, one.f1)),
                f"{one.seconds_per_1000_pairs:.1f}",
                f"{one.cost_per_1000_pairs:.4f}",
            )
            for one in overview.across
        ],
    )


def _as_json(overview: Overview, plan: BenchmarkPlan, definition: str, domains: Mapping[str, Domain]) -> dict[str, Any]:
    """Return the object of one corpus, or one with an object for each corpus and the overview."""
    from abcdlink.evaluation.breakdowns import average_f1

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


def row_of(result: ApproachResult) -> tuple[str, ...]:
    """Return one row of the table."""
    scores = (result.precision, result.recall, result.f1, result.f1_over_all_sources)
    error = f"{100 * result.calibration.error:.0f}" if result.calibration else ""
    return (*score_cells(result, scores), error, f"{result.seconds:.1f}", str(result.cut))


def score_cells(result: ApproachResult, scores: Iterable[float | None]) -> tuple[str, ...]:
    """Return the cells that tables begin with: name, scores and false-link rate in percent; empty where unknown."""
    false = result.all_sources.false_link_rate
    rate = "" if false is None else f"{100 * false:.1f}"
    return (result.approach.name, *("" if value is None else f"{100 * value:.2f}" for value in scores), rate)


def _result_as_json(result: ApproachResult) -> dict[str, Any]:
    excluded = {"approach"} if result.outcomes else {"approach", "outcomes", "prompt_hash", "cost", "sampled_from"}
    return result.model_dump(mode="json", exclude=excluded)
