"""Commands that run one stage here, without Prefect: ``generate`` and ``validate``."""

from __future__ import annotations

from typing import Annotated

import typer

from abcdlink.cli.output import (
    ByOption,
    DomainOption,
    JsonOption,
    OnlyOption,
    OptionalCorpusOption,
    RunArgument,
    RunDomainOption,
    SettingOption,
    ShortestOption,
    SizeOption,
    TargetsOption,
    conditions,
    print_json,
    print_table,
    say,
)
from abcdlink.errors import InputError
from abcdlink.generation import Strategy
from abcdlink.progress import terminal


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("generate")(generate)
    app.command("validate")(validate)


def generate(
    run: RunArgument,
    domain: DomainOption = "news",
    setting: SettingOption = None,
    corpus: OptionalCorpusOption = "",
    targets: TargetsOption = "",
    sample: SizeOption = None,
    shortest: ShortestOption = None,
    by: ByOption = "",
    only: OnlyOption = None,
    strategy: Annotated[Strategy, typer.Option(help="How a source document is written.")] = Strategy.SENTENCE,
    documents: Annotated[int | None, typer.Option(min=1, help="Only the first N target documents.")] = None,
    pairs: Annotated[int | None, typer.Option(min=1, help="Only the first N natural pairs.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all that is drawn at random.")] = 13,
    like: Annotated[
        str, typer.Option(help="Folder of a corpus with links whose shape is imitated; empty: as the domain says.")
    ] = "",
    second_look: Annotated[
        str, typer.Option(help="LLM profile, or run:KEY for another run's learned linker, that judges all links again.")
    ] = "",
    drop: Annotated[
        bool, typer.Option("--drop/--show", help="What the second look disagrees with is dropped, or only shown.")
    ] = True,
    json: JsonOption = False,
) -> None:
    """Write a synthetic source document for each target document of a corpus, or for each of --targets.

    Example: `abcdlink generate spring-news --targets articles --sample 346 --seed 1`
    """
    from abcdlink.corpus.sampling import Sampling
    from abcdlink.domain import find_domain, in_setting
    from abcdlink.llm.profiles import require_known
    from abcdlink.stages.execution import Here
    from abcdlink.stages.generate import plan_generation, refuse_to_generate, run_generation
    from abcdlink.stages.intake import take_corpus, take_targets
    from abcdlink.stages.second_look import OF_RUN
    from abcdlink.store import open_run

    if not targets and (sample or shortest or by or only):
        msg = "--sample, --shortest, --by and --only draw from --targets, which is not given"
        raise InputError(msg, "give --targets FOLDER; natural pairs are drawn with `abcdlink sample`")
    if second_look and not second_look.startswith(OF_RUN):
        require_known([second_look])
    chosen, store = find_domain(in_setting(domain, setting)), open_run(run)
    refuse_to_generate(like, second_look)
    if corpus or not targets:
        take_corpus(store, corpus or "sample", chosen, pairs)
    if targets:
        how = Sampling(only=conditions(only), shortest=shortest, size=sample, by=by, seed=seed)
        take_targets(store, targets, chosen, how)
    plan = plan_generation(store, strategy, seed, documents, like, second_look, drop)
    with terminal() as progress:
        result = run_generation(store, chosen, plan, Here(progress))
    if json:
        print_json(result.model_dump(mode="json"))
        return
    say(f"{result.pairs} of {result.documents} pairs, {result.links} links, in {store.where('synthetic')}")
    for reason, count in result.reasons.items():
        say(f"  refused {count}: {reason}")
    for row in result.shape:
        outside = "" if row.met else ": not within 15 %"
        say(f"  {row.measure}: {row.reached:.2f} (wanted: {row.wanted:.2f}{outside})")
    if look := result.second_look:
        say(f"  second look by {look.model}: confirms {look.links_confirmed} of {look.links} links")
        say(f"  and {look.unlinked_confirmed} of {look.unlinked} sentences without links; {look.unknown} not answered")


def validate(
    run: RunArgument,
    domain: RunDomainOption = "",
    beside: Annotated[list[str], typer.Option(help="Folder of another corpus to show beside; repeatable.")] = [],  # noqa: B006
    json: JsonOption = False,
) -> None:
    """Measure the synthetic corpus of a run against its natural one.

    Example: `abcdlink validate spring-news`
    """
    from abcdlink.domain import domain_of
    from abcdlink.stages.validate import run_validation
    from abcdlink.store import existing_run
    from abcdlink.validation import MEASURES

    store = existing_run(run)
    result = run_validation(store, domain_of(store, domain), beside)
    if json:
        print_json(result.model_dump(mode="json"))
        return
    print_table(f"{run}: synthetic against natural documents", ("measure", "value"), result.measures.items())
    columns = ("measure", "against", "synthetic", "other", "Cliff's delta", "95 % interval")
    rows = [
        (
            MEASURES[one.measure],
            one.corpus,
            one.synthetic_mean,
            one.mean,
            one.delta,
            "{:.2f} to {:.2f}".format(*one.interval),
        )
        for one in result.differences
    ]
    print_table("Style, document by document; delta 0: no difference", columns, rows)
    counts = {name: one.rows for name, one in result.counts.items()}
    numbers = [(what, *(found[what] for found in counts.values())) for what in next(iter(counts.values()), {})]
    print_table("Documents and links", ("", *counts), numbers)
    for note in (*result.notes, *(f"out of bounds: {flag}" for flag in result.flags)):
        say(note[0].upper() + note[1:])
