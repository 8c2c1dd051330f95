"""Command ``estimate``: what it would cost to let the LLM decide, without asking it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from abcdlink.cli.output import JsonOption, RunArgument, RunDomainOption, listed, print_json, print_table, say
from abcdlink.errors import InputError
from abcdlink.progress import terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abcdlink.llm.estimate import Estimate
    from abcdlink.stages.plan import BenchmarkPlan
    from abcdlink.store import Store

COLUMNS = ("approach", "questions", "answered", "calls", "prompt tokens", "completion, at most", "cost, at most")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("estimate")(estimate)


def estimate(
    run: RunArgument,
    domain: RunDomainOption = "",
    retrievers: Annotated[
        str, typer.Option(help="Whose top candidates the LLM decides on; comma-separated, as all of these.")
    ] = "",
    cutoffs: Annotated[str, typer.Option(help="How many candidates.")] = "",
    setups: Annotated[str, typer.Option(help="Any of listwise, pairwise, llm-only.")] = "",
    modes: Annotated[str, typer.Option(help="Prompt modes, 1 to 4.")] = "",
    scorings: Annotated[str, typer.Option(help="Of answer, votes, probability.")] = "",
    samples: Annotated[int | None, typer.Option(min=2, help="Sampled answers that vote.")] = None,
    natural: Annotated[
        bool, typer.Option("--natural", help="The shortlisted approaches on the natural pairs, not the benchmark.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Say what it would cost to let the LLM decide: calls, tokens, money. It is asked nothing.

    What is not given is as in the run's benchmark where that was begun, else as by default. Rankings
    that are missing are made first and kept. Ids that answers leave out, answers that are cut off
    and questions that are too long cause more calls.

    Example: `abcdlink estimate spring-news --setups listwise,pairwise --modes 3,4`
    """
    from abcdlink.domain import domain_of
    from abcdlink.layout import NATURAL, SYNTHETIC
    from abcdlink.settings import get_settings
    from abcdlink.stages import estimate as stage
    from abcdlink.stages.candidates import read_shortlist, retrievers_to_rank
    from abcdlink.store import existing_run

    store = existing_run(run)
    chosen = domain_of(store, domain)
    changed: dict[str, Any] = {
        "retrievers": tuple(listed(retrievers)),
        "cutoffs": _numbers(cutoffs, "cutoff"),
        "setups": tuple(listed(setups)),
        "prompt_modes": _numbers(modes, "prompt mode"),
        "scorings": tuple(listed(scorings)),
        "samples": samples,
    }
    given = {name: value for name, value in changed.items() if value}
    with terminal() as progress:
        if natural:
            if given:
                msg = f"--natural estimates what is on the shortlist: {', '.join(given)} cannot be chosen"
                raise InputError(msg, "leave the other options out")
            _say_missing(store, NATURAL, retrievers_to_rank(read_shortlist(store).approaches))
            found = stage.estimate_candidates(store, chosen, progress)
        else:
            plan = _plan(store, given)
            store.require(f"{SYNTHETIC}/pairs.jsonl", "generate")
            _say_missing(store, SYNTHETIC, stage.retrievers_for(plan))
            found = stage.estimate_benchmark(store, chosen, plan, progress)
    settings = get_settings()
    if json:
        print_json({"run": run, "model": settings.llm_model, **found.model_dump(mode="json")})
        return
    rows = [_row(name, one) for name, one in found.approaches.items()]
    rows += [_row("all of them", found.total)] if len(rows) > 1 else []
    print_table(f"{run}: what {settings.llm_model} has still to be asked", COLUMNS, rows)
    say(f"Prompt tokens: {found.total.method}.")
    say(f"The prefix cache of a server can save {found.total.shared_tokens} of them.")
    if not settings.llm_price_prompt + settings.llm_price_completion:
        say("The cost is 0 because no prices are set: ABCDLINK_LLM_PRICE_PROMPT and ABCDLINK_LLM_PRICE_COMPLETION.")
    elif settings.llm_batch:
        say("By the Batch API the cost is half of that.")


def _plan(store: Store, given: dict[str, Any]) -> BenchmarkPlan:
    """Return the plan of the run's benchmark, or the default one, with the choices that were given."""
    from pydantic import ValidationError

    from abcdlink.stages.benchmark import STAGE
    from abcdlink.stages.plan import BenchmarkPlan, LLMPlan

    begun = store.manifest.get("inputs", {}).get(STAGE)
    plan = BenchmarkPlan.model_validate(begun) if begun else BenchmarkPlan()
    try:
        llm = LLMPlan.model_validate({**(plan.llm or LLMPlan()).model_dump(), **given})
    except ValidationError as error:
        first = error.errors()[0]
        msg = f"{first['loc'][0]}: {first['input']!r} cannot be used ({first['msg']})"
        raise InputError(msg, "look at `abcdlink estimate --help` for what can be chosen") from None
    return plan.model_copy(update={"llm": llm})


def _numbers(text: str, what: str) -> tuple[int, ...]:
    for part in listed(text):
        if not part.isdecimal() or int(part) < 1:
            msg = f"{part!r} is no {what}"
            raise InputError(msg, "give whole numbers from 1, separated by commas")
    return tuple(map(int, listed(text)))


def _say_missing(store: Store, corpus_name: str, retrievers: Sequence[str]) -> None:
    from abcdlink.stages.estimate import rankings_missing

    if missing := rankings_missing(store, corpus_name, retrievers):
        say(f"The {corpus_name} pairs have to be ranked first, by {', '.join(missing)}.")


def _row(name: str, one: Estimate) -> tuple[object, ...]:
    return (
        name,
        one.questions,
        one.kept,
        one.calls,
        one.prompt_tokens,
        one.completion_tokens,
        f"{one.cost:.4g}",
    )
