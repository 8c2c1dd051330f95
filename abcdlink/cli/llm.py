"""Commands on LLMs, ``models`` and ``estimate``, and the options that say what they are asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from abcdlink.cli.output import (
    JsonOption,
    RunArgument,
    RunDomainOption,
    listed,
    print_json,
    print_rows,
    print_table,
    say,
)
from abcdlink.errors import InputError, one_of
from abcdlink.linking.records import Scoring, Setup
from abcdlink.progress import terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abcdlink.stages.plan import BenchmarkPlan
    from abcdlink.store import Store

SetupsOption = Annotated[str, typer.Option(help="Comma-separated: listwise, two-step, pairwise, llm-only.")]
ModesOption = Annotated[str, typer.Option(help="Comma-separated prompt modes, 1 to 4.")]
ScoringsOption = Annotated[str, typer.Option(help="Comma-separated: answer, votes, probability.")]

MOST_CANDIDATES = 1000


def models(json: JsonOption = False) -> None:
    """List the LLM profiles: their servers, models, prices and roles, and whether their keys are set.

    The profile `default` is what the variables `ABCDLINK_LLM_...` say; the others are tables `[llm.NAME]` of the
    settings file `abcdlink.toml`, in the current folder or the home folder.

    Example: `abcdlink models`
    """
    from abcdlink.llm.client import LLM
    from abcdlink.llm.profiles import is_same_model, names, profile, profiles

    found = profiles()
    roles = found.roles
    rows: list[tuple[str, ...]] = []
    told: dict[str, Any] = {}
    for name in names():
        settings = profile(name)
        has = [role for role in ("generator", "cleaner") if getattr(roles, role) == name]
        has += ["linker"] if name in roles.linkers else []
        prices = f"{settings.llm_price_prompt:g} / {settings.llm_price_completion:g}"
        shown = prices if settings.llm_has_prices else "not set"
        url = LLM(settings).endpoint.shown_url
        rows.append((name, settings.llm_model, url, shown, ", ".join(has), "missing" if settings.llm_keyless else ""))
        told[name] = {"model": settings.llm_model, "base_url": url, "roles": has, "key_missing": settings.llm_keyless}
    if json:
        print_json({"file": found.file, "profiles": told})
        return
    columns = ("profile", "model", "server", "price of 1 million prompt / answer tokens", "roles", "key")
    print_table(f"LLM profiles of {found.file or 'the environment'}", columns, rows, texts=6)
    writer = profile("generator").llm_model
    same = [name for name in roles.linkers if is_same_model(profile(name).llm_model, writer)]
    if same:
        say(f"{', '.join(same)} links pairs that the same model generated: its scores on these may be too high.")
    for name in names():
        if keyless := profile(name).llm_keyless:
            say(f"{name}: {keyless}.")


def estimate(
    run: RunArgument,
    domain: RunDomainOption = "",
    retrievers: Annotated[
        str, typer.Option(help="Comma-separated retrievers whose top candidates the LLM decides on.")
    ] = "",
    models: Annotated[
        str, typer.Option(help="Comma-separated LLM profiles; default: those with the role linkers.")
    ] = "",
    cutoffs: Annotated[str, typer.Option(help="Comma-separated numbers of candidates.")] = "",
    setups: SetupsOption = "",
    modes: ModesOption = "",
    scorings: ScoringsOption = "",
    samples: Annotated[int | None, typer.Option(min=2, help="Number of sampled answers that vote.")] = None,
    natural: Annotated[
        bool, typer.Option("--natural", help="Estimate the shortlisted approaches on the natural pairs instead.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Estimate the calls, tokens and money it would take to let the LLM decide, without asking it anything.

    Options you leave out are those of the run's benchmark if it has begun, else the defaults. Missing
    rankings are made first and kept. Ids that answers leave out, answers that are cut off and
    questions that are too long cause more calls.

    Example: `abcdlink estimate spring-news --setups listwise,pairwise --modes 3,4`
    """
    from abcdlink.domain import domain_of
    from abcdlink.layout import NATURAL, SYNTHETIC
    from abcdlink.llm.profiles import profile
    from abcdlink.stages import estimate as stage
    from abcdlink.stages.candidates import retrievers_to_rank
    from abcdlink.stages.shortlist import read_shortlist
    from abcdlink.store import existing_run

    store = existing_run(run)
    chosen = domain_of(store, domain)
    given = llm_choices(models, retrievers, cutoffs, setups, modes, scorings)
    given |= {"samples": samples} if samples else {}
    with terminal() as progress:
        if natural:
            if given:
                msg = f"--natural estimates what is on the shortlist, so {', '.join(given)} cannot be chosen"
                raise InputError(msg, "leave the other options out")
            _say_missing(store, NATURAL, retrievers_to_rank(read_shortlist(store).approaches))
            found = stage.estimate_candidates(store, chosen, progress)
        else:
            plan = _plan(store, given)
            store.require(f"{SYNTHETIC}/pairs.jsonl", "generate")
            _say_missing(store, SYNTHETIC, stage.retrievers_for(plan))
            found = stage.estimate_benchmark(store, chosen, plan, progress)
    settings = {name: profile(name) for name in found.models}
    asked = " and ".join(one.llm_model for one in settings.values())
    if json:
        print_json({"run": run, "model": asked, **found.model_dump(mode="json")})
        return
    estimates = dict(found.approaches)
    estimates |= {f"all of {name}": one for name, one in found.models.items()} if len(found.models) > 1 else {}
    estimates |= {"all of them": found.total} if len(estimates) > 1 else {}
    rows = [{"approach": name, **one.row} for name, one in estimates.items()]
    print_rows(f"{run}: what is still to be asked of {asked}", rows)
    say(f"Prompt tokens: {found.total.method}.")
    say(f"The prefix cache of a server can save {found.total.shared_tokens} of them.")
    for name in found.priceless:
        prices = [settings[name].llm_setting(f"price_{of}") for of in ("prompt", "completion")]
        say(f"The cost of {settings[name].llm_model} counts as 0 because no prices are set: {' and '.join(prices)}.")
    for name, one in settings.items():
        if one.llm_batch and name not in found.priceless:
            say(f"With the Batch API, {one.llm_model} costs half of that.")


def _plan(store: Store, given: dict[str, Any]) -> BenchmarkPlan:
    """Return the plan of the run's benchmark, or the default one, with the choices that were given."""
    from abcdlink.stages.benchmark import STAGE
    from abcdlink.stages.plan import BenchmarkPlan, LLMPlan

    begun = store.manifest.get("inputs", {}).get(STAGE)
    plan = BenchmarkPlan.model_validate(begun) if begun else BenchmarkPlan()
    return plan.model_copy(update={"llm": (plan.llm or LLMPlan()).model_copy(update=given)})


def llm_choices(models: str, retrievers: str, cutoffs: str, setups: str, modes: str, scorings: str) -> dict[str, Any]:
    """Return the fields of an ``LLMPlan`` from comma-separated options; ``InputError`` names an unknown value."""
    found = {
        "models": tuple(listed(models)),
        "retrievers": tuple(listed(retrievers)),
        "cutoffs": _numbers(cutoffs, "number of candidates", MOST_CANDIDATES),
        "setups": tuple(one_of(Setup, one, "set-up") for one in listed(setups)),
        "prompt_modes": _numbers(modes, "prompt mode", 4),
        "scorings": tuple(one_of(Scoring, one, "scoring") for one in listed(scorings)),
    }
    return {name: values for name, values in found.items() if values}


def _numbers(text: str, what: str, most: int) -> tuple[int, ...]:
    for part in listed(text):
        if not part.isdecimal() or not 1 <= int(part) <= most:
            msg = f"{part!r} is not a {what}"
            raise InputError(msg, f"give whole numbers from 1 to {most}, separated by commas")
    return tuple(map(int, listed(text)))


def _say_missing(store: Store, corpus_name: str, retrievers: Sequence[str]) -> None:
    from abcdlink.stages.estimate import rankings_missing

    if missing := rankings_missing(store, corpus_name, retrievers):
        say(f"The {corpus_name} pairs must be ranked first, by {', '.join(missing)}.")
