"""Commands that make candidate pools here, without Prefect: ``shortlist`` and ``candidates``."""

from __future__ import annotations

from typing import Annotated, get_args

import typer

from abcdlink.candidates import PoolMode
from abcdlink.cli.output import (
    JsonOption,
    RunArgument,
    RunDomainOption,
    listed,
    out,
    print_json,
    print_table,
    say,
)
from abcdlink.errors import InputError
from abcdlink.evaluation.comparisons import Unit
from abcdlink.linking.records import ApproachKind
from abcdlink.progress import terminal

ApproachesOption = Annotated[
    str,
    typer.Option(
        "--approaches",
        help="Take these (one is enough for --mode single), as named in the benchmark, e.g. bm25@3,hybrid@3.",
    ),
]
KindsOption = Annotated[
    str, typer.Option("--kinds", help="Kinds of the two: retriever, learned, llm; one may be named twice.")
]
ModeOption = Annotated[
    PoolMode, typer.Option("--mode", help="Compare two approaches, or take all links of one, of both, of either.")
]
DistractorsOption = Annotated[
    int | None,
    typer.Option(
        "--distractors", min=0, max=20, help="Random targets per source; default: the domain's in a comparison."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("shortlist")(shortlist)
    app.command("candidates")(candidates)


def kinds_of(text: str) -> list[str]:
    """Return the kinds named in an option; ``InputError`` when one is none."""
    known, kinds = [kind.value for kind in ApproachKind], listed(text)
    for kind in kinds:
        if kind not in known:
            msg = f"{kind!r} is no kind of approach"
            raise InputError(msg, f"name {', '.join(known)}")
    return kinds


def shortlist(
    run: RunArgument,
    approaches: ApproachesOption = "",
    kinds: KindsOption = "",
    by: Annotated[str, typer.Option("--by", help="Resample by source or by pair to tell approaches apart.")] = "source",
    recall_target: Annotated[
        float,
        typer.Option("--recall-target", min=0, max=1, help="Recall that cutoffs are to reach; 0: as benchmarked."),
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
    json: JsonOption = False,
) -> None:
    """Let the shortlisted approaches propose links on the run's natural pairs, and make the annotators' pools.

    Example: `abcdlink candidates spring-news --mode union`
    """
    from abcdlink.domain import domain_of
    from abcdlink.stages.candidates import PoolPlan, run_candidates
    from abcdlink.stages.execution import Here
    from abcdlink.store import existing_run

    store = existing_run(run)
    plan = PoolPlan(batches=batches, seed=seed, mode=mode, distractors=distractors)
    with terminal() as progress:
        counts = run_candidates(store, domain_of(store, domain), plan, Here(progress))
    if json:
        print_json(counts.model_dump(mode="json"))
        return
    rows = [(f"pools of batch {batch}", count) for batch, count in counts.batches.items()]
    rows += [(f"candidates by {method}", count) for method, count in counts.methods.items()]
    rows += [(f"sources left out: {reason}", count) for reason, count in counts.filtered.items()]
    print_table(f"{run}: {counts.candidates} candidates in {counts.pools} pools ({counts.mode})", ("", "count"), rows)
    if counts.refused:
        say(f"Refused {counts.refused} proposals on sentences that the corpus does not hold.")
