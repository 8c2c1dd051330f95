"""Stages of a run in this process, without Prefect: ``run bootstrap --here`` and ``run benchmark``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from abcdlink.cli.benchmark import AimOption
from abcdlink.cli.output import JsonOption, RunArgument, RunDomainOption, listed, print_json, print_table, say
from abcdlink.linking.records import Aim
from abcdlink.progress import terminal


def register(run: typer.Typer) -> None:
    """Add the command."""
    run.command("benchmark")(run_benchmark)


def bootstrap_here(parameters: dict[str, Any], json: bool) -> None:
    """Do what the flow ``bootstrap`` does up to the candidates, from the same parameters, and say what came of it."""
    from abcdlink.domain import find_domain
    from abcdlink.evaluation.shortlist import ShortlistRule
    from abcdlink.stages.execution import Here
    from abcdlink.stages.whole import up_to_candidates
    from abcdlink.store import open_run
    from flows.parameters import (
        AnnotationParameters,
        GenerationParameters,
        TargetParameters,
        whole_job,
    )

    job = whole_job(
        parameters["corpus"],
        parameters["pairs"],
        TargetParameters.model_validate(parameters["targets"]),
        GenerationParameters.model_validate(parameters["generation"]),
        None,
        ShortlistRule.model_validate(parameters["shortlist"]),
        AnnotationParameters.model_validate(parameters["annotation"]),
        parameters["quick"],
    )
    store, domain = open_run(parameters["run"]), find_domain(parameters["domain"])
    with terminal() as progress:
        counts = up_to_candidates(store, domain, job, Here(progress), lambda _stage, _result: None)
    if json:
        print_json(counts.model_dump(mode="json"))
        return
    say(f"{counts.pools} source sentences with {counts.candidates} candidates are ready for annotators.")
    say(f"Put them in front of people with `abcdlink up` and `abcdlink annotate start {store.key}`.")


def run_benchmark(
    run: RunArgument,
    domain: RunDomainOption = "",
    retrievers: Annotated[
        str, typer.Option(help="Comma-separated names of retrievers and learned linkers.")
    ] = "bm25,all-minilm-l6-v2,hybrid,learned-logistic",
    cutoffs: Annotated[
        str, typer.Option(help="Comma-separated values of k, and rules, as in `abcdlink benchmark`.")
    ] = "1,3,5,7,10,20,expected-f1",
    aim: AimOption = Aim.PAPER,
    folds: Annotated[int, typer.Option(min=3, help="Parts of the pairs, where something is fitted.")] = 5,
    llm: Annotated[bool, typer.Option(help="Also let the LLM decide on the candidates of the best retriever.")] = True,
    json: JsonOption = False,
) -> None:
    """Benchmark the synthetic pairs of a run in this process, without Prefect; a flow goes on from there.

    Example: `abcdlink run benchmark spring-news --retrievers bm25,hybrid --cutoffs 1,3 --no-llm`
    """
    from abcdlink.api import plan_of
    from abcdlink.cli.benchmark_tables import COLUMNS, row_of
    from abcdlink.domain import domain_of
    from abcdlink.stages import benchmark as stage
    from abcdlink.stages.execution import Here
    from abcdlink.stages.plan import LLMPlan
    from abcdlink.store import existing_run

    store = existing_run(run)
    plan = plan_of(listed(retrievers), (), listed(cutoffs), "paper", folds, aim)
    plan = plan.model_copy(update={"llm": LLMPlan() if llm else None})
    with terminal() as progress:
        result = stage.run_benchmark(store, domain_of(store, domain), plan, Here(progress))
    if json:
        print_json(result.model_dump(mode="json"))
        return
    title = f"{run}: {result.pairs} synthetic pairs, {result.sources} sources with links; percent"
    print_table(title, COLUMNS, map(row_of, result.approaches))
    for note in result.notes:
        say(note)
