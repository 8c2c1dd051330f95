"""Commands that make candidate pools here, without Prefect: ``shortlist`` and ``candidates``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, get_args

import typer

from abcdlink.candidates.pools import Next, PoolMode
from abcdlink.cli.output import JsonOption, RunArgument, RunDomainOption, listed, out, print_json, print_table, say
from abcdlink.errors import InputError, one_of
from abcdlink.evaluation.comparisons import Unit
from abcdlink.linking.records import ApproachKind
from abcdlink.progress import terminal

if TYPE_CHECKING:
    from abcdlink.stages.budget import Choice

ApproachesOption = Annotated[
    str,
    typer.Option(
        "--approaches",
        help="Take these (one is enough for --mode single), as named in the benchmark, e.g. bm25@3,hybrid@3.",
    ),
]
KindsOption = Annotated[
    str,
    typer.Option("--kinds", help="Kinds of the two approaches: retriever, learned, llm; a kind can be given twice."),
]
ModeOption = Annotated[
    PoolMode, typer.Option("--mode", help="Compare two approaches, or take all links of one, of both, or of either.")
]
DistractorsOption = Annotated[
    int | None,
    typer.Option(
        "--distractors", min=0, max=20, help="Random targets per source; default: the domain's in a comparison."
    ),
]


JudgmentsOption = Annotated[
    int | None, typer.Option("--judgments", min=1, help="For --mode budget: candidates to judge over all batches.")
]
HoursOption = Annotated[
    float | None,
    typer.Option(
        "--hours",
        min=0.1,
        help="Instead: hours of an annotator's time, at 11 seconds a candidate until batch 1 is timed.",
    ),
]
WantedLinksOption = Annotated[int | None, typer.Option("--links", min=1, help="Instead: number of links to find.")]
AuditOption = Annotated[
    float,
    typer.Option(
        "--audit", min=0, max=0.9, help="Share of the judgments spent on random candidates, to estimate recall."
    ),
]
NextOption = Annotated[
    Next, typer.Option("--next", help="Which pairs come first: random, the most expected links, or the least certain.")
]


def kinds_of(text: str) -> list[str]:
    """Return the kinds named in an option; ``InputError`` when one is none."""
    return [one_of(ApproachKind, kind, "kind of approach").value for kind in listed(text)]


def shortlist(
    run: RunArgument,
    approaches: ApproachesOption = "",
    kinds: KindsOption = "",
    by: Annotated[str, typer.Option("--by", help="Resample by source or by pair to tell approaches apart.")] = "source",
    recall_target: Annotated[
        float,
        typer.Option("--recall-target", min=0, max=1, help="Recall that cutoffs must reach; 0: as benchmarked."),
    ] = 0.0,
    fitted_cutoffs: Annotated[bool, typer.Option("--fitted-cutoffs", help="Allow cutoffs by rule.")] = False,
    json: JsonOption = False,
) -> None:
    """Choose the approaches that propose candidates, by the run's benchmark or by name.

    Example: `abcdlink shortlist spring-news --kinds retriever,retriever`
    """
    from abcdlink.evaluation.shortlist import ShortlistRule
    from abcdlink.stages.shortlist import run_shortlist
    from abcdlink.store import existing_run

    if by not in get_args(Unit):
        msg = f"there is no unit {by!r}"
        raise InputError(msg, f"use one of {', '.join(get_args(Unit))}")
    rule = ShortlistRule.model_validate(
        {
            "approaches": tuple(listed(approaches)),
            "kinds": tuple(kinds_of(kinds)),
            "by": by,
            "recall_target": recall_target,
            "fitted_cutoffs": fitted_cutoffs,
        }
    )
    result = run_shortlist(existing_run(run), rule)
    if json:
        print_json(result.model_dump(mode="json"))
        return
    for label, approach in result.labels.items():
        out.print(f"{approach.name} (method {label})", soft_wrap=True, markup=False, highlight=False)
    for reason in result.reasons:
        say(f"  {reason}")


def candidates(
    run: RunArgument,
    domain: RunDomainOption = "",
    mode: ModeOption = PoolMode.COMPARISON,
    distractors: DistractorsOption = None,
    batches: Annotated[int, typer.Option("--batches", min=1, max=20, help="Batches of annotation.")] = 2,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the random distractors.")] = 13,
    judgments: JudgmentsOption = None,
    hours: HoursOption = None,
    links: WantedLinksOption = None,
    audit: AuditOption = 0.1,
    following: NextOption = Next.RANDOM,
    json: JsonOption = False,
) -> None:
    """Let the shortlisted approaches propose links on the run's natural pairs, and make the annotators' pools.

    With `--mode budget` a learned linker chooses the candidates of the first batch, and says what to expect.

    Example: `abcdlink candidates spring-news --mode budget --judgments 2000`
    """
    from abcdlink.domain import domain_of
    from abcdlink.stages.budget import BudgetPlan, choices_of
    from abcdlink.stages.candidates import PoolPlan, run_candidates
    from abcdlink.stages.execution import Here
    from abcdlink.store import existing_run

    store = existing_run(run)
    budget = BudgetPlan(judgments=judgments, hours=hours, links=links, audit=audit, next=following, seed=seed)
    plan = PoolPlan(batches=batches, seed=seed, mode=mode, distractors=distractors, budget=budget)
    with terminal() as progress:
        counts = run_candidates(store, domain_of(store, domain), plan, Here(progress))
    if json:
        choices = [choice.model_dump(mode="json") for choice in choices_of(store)]
        print_json(counts.model_dump(mode="json") | ({"choices": choices} if choices else {}))
        return
    title = f"{run}: {counts.candidates} candidates in {counts.pools} pools ({counts.mode})"
    print_table(title, ("", "count"), counts.rows)
    if counts.refused:
        say(f"Refused {counts.refused} proposals on sentences that are not in the corpus.")
    for choice in choices_of(store)[-1:]:
        print_forecast(choice)


def print_forecast(choice: Choice) -> None:
    """Print what the rest of a budget is expected to give, beside other budgets."""
    curve = choice.forecast.curve
    points = [*curve[:: max(1, len(curve) // 8)], choice.forecast.chosen]
    rows = [
        (
            f"{point.judgments:,}" + (" (chosen)" if point is choice.forecast.chosen else ""),
            f"{point.tasks:,}",
            f"{point.links.value:,.0f} ({point.links.low:,.0f} to {point.links.high:,.0f})",
            f"{point.acceptance:.1%}",
            f"{point.recall.value:.0%} ({point.recall.low:.0%} to {point.recall.high:.0%})",
        )
        for point in sorted(points, key=lambda point: point.judgments)
    ]
    columns = ("judgments", "tasks", "links expected", "acceptance", "recall")
    print_table(f"What to expect from batch {choice.batch} on, over all pairs left", columns, rows)
    if choice.zero_shot:
        say("The linker has not learned from judgments on these documents: its probabilities may be off.")
