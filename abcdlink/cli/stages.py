"""Commands that run one stage here, without Prefect: ``generate``, ``validate``, ``label`` with ``labels``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from abcdlink.cli.output import (
    ByOption,
    DomainOption,
    FirstDocumentsOption,
    FirstPairsOption,
    JsonOption,
    OnlyOption,
    OptionalCorpusOption,
    RunArgument,
    RunDomainOption,
    SeedOption,
    SettingOption,
    ShortestOption,
    SizeOption,
    TargetsOption,
    conditions,
    corpus_folder,
    out,
    print_json,
    print_rows,
    print_table,
    say,
    shown,
)
from abcdlink.errors import InputError
from abcdlink.generation import Strategy
from abcdlink.judgments import LabelRule
from abcdlink.progress import terminal


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
    documents: FirstDocumentsOption = None,
    pairs: FirstPairsOption = None,
    seed: SeedOption = 13,
    like: Annotated[
        str, typer.Option(help="Corpus folder with links whose shape to imitate; default: the domain's shape.")
    ] = "",
    second_look: Annotated[
        str, typer.Option(help="LLM profile, or run:KEY for another run's learned linker, to judge all links again.")
    ] = "",
    drop: Annotated[
        bool, typer.Option("--drop/--show", help="Drop what the second look disagrees with, or only show it.")
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
    from abcdlink.stages.generate import Generating, plan_generation, refuse_to_generate, run_generation
    from abcdlink.stages.intake import take_corpus, take_targets
    from abcdlink.stages.second_look import OF_RUN
    from abcdlink.store import open_run

    if not targets and (sample or shortest or by or only):
        msg = "--sample, --shortest, --by and --only draw from --targets, which is not given"
        raise InputError(msg, "give --targets FOLDER; natural pairs are drawn with `abcdlink sample`")
    if second_look and not second_look.startswith(OF_RUN):
        require_known([second_look])
    chosen, store = find_domain(in_setting(domain, setting)), open_run(run)
    how = Generating(strategy=strategy, documents=documents, seed=seed, like=like, second_look=second_look, drop=drop)
    refuse_to_generate(how)
    if corpus or not targets:
        take_corpus(store, corpus or "sample", chosen, pairs)
    if targets:
        drawn = Sampling(only=conditions(only), shortest=shortest, size=sample, by=by, seed=seed)
        take_targets(store, targets, chosen, drawn)
    plan = plan_generation(store, how)
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
    beside: Annotated[list[str], typer.Option(help="Folder of another corpus to compare with; repeatable.")] = [],  # noqa: B006
    json: JsonOption = False,
) -> None:
    """Measure the synthetic corpus of a run against its natural one.

    Example: `abcdlink validate spring-news`
    """
    from abcdlink.domain import domain_of
    from abcdlink.stages.generate import run_validation
    from abcdlink.store import existing_run

    store = existing_run(run)
    result = run_validation(store, domain_of(store, domain), beside)
    if json:
        print_json(result.model_dump(mode="json"))
        return
    measures = [(name, shown(name, value)) for name, value in result.measures.items()]
    print_table(f"{run}: synthetic against natural documents", ("measure", "value"), measures)
    print_rows("Style, document by document; delta 0: no difference", [one.row for one in result.differences])
    counts = {name: one.rows for name, one in result.counts.items()}
    whats = next(iter(counts.values()), {})
    numbers = [(what, *(shown(what, found[what]) for found in counts.values())) for what in whats]
    print_table("Documents and links", ("", *counts), numbers)
    for note in (*result.notes, *(f"out of bounds: {flag}" for flag in result.flags)):
        say(note[0].upper() + note[1:])


CorpusArgument = Annotated[str, typer.Argument(help="Corpus folder or s3:// prefix.", callback=corpus_folder)]
NameOption = Annotated[str, typer.Option("--name", help="Name of these labels in the run; default: the folder's name.")]
PrecisionOption = Annotated[
    float, typer.Option("--precision", min=0.01, max=1, help="Wanted precision of the links; sets the threshold.")
]
LinkerOption = Annotated[
    str, typer.Option("--linker", help="Learned linker of the run; optional when there is only one.")
]


NameArgument = Annotated[str, typer.Argument(help="Name of the labels in the run.")]
RuleOption = Annotated[LabelRule, typer.Option("--rule", help="What makes a judged candidate a link.")]


def label(
    run: RunArgument,
    corpus: CorpusArgument,
    name: NameOption = "",
    linker: LinkerOption = "",
    precision: PrecisionOption = 0.95,
    floor: Annotated[
        float,
        typer.Option("--floor", min=0.001, max=0.999, help="Keep every candidate with at least this probability."),
    ] = 0.05,
    parts: Annotated[
        int | None,
        typer.Option("--parts", min=1, help="Stop after this many parts and say how long the rest will take."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Label a corpus of any size with a learned linker of the run; to continue after an interruption, run it again.

    Example: `abcdlink label spring-news archive --precision 0.95`
    """
    from abcdlink.labels.parts import LabelSampling
    from abcdlink.stages.label import plan_labels, run_labels
    from abcdlink.store import existing_run

    store = existing_run(run)
    with terminal() as progress:
        sampling = LabelSampling(floor=floor)
        planned = plan_labels(store, corpus, name or Path(corpus).name, linker, sampling, progress)
        result = run_labels(planned, precision, parts, progress)
    if json:
        print_json(result.model_dump(mode="json") | {"seconds_to_go": result.seconds_to_go})
        return
    print_table(f"{run}: labels {result.name!r} by {result.linker}", ("", "count"), result.counted)
    for line in [*result.lines, *(f"Refused: {one.line}" for one in result.examples)]:
        say(line)


def show_labels(
    run: RunArgument,
    name: NameArgument,
    precision: PrecisionOption = 0.95,
    rule: RuleOption = LabelRule.BOTH,
    json: JsonOption = False,
) -> None:
    """Show labels and what their audit found, and write their data card.

    Example: `abcdlink labels show spring-news archive`
    """
    from abcdlink.layout import labels_file
    from abcdlink.stages.audit import CARD, read_audit, write_card
    from abcdlink.stages.label import LabelRun
    from abcdlink.store import existing_run

    store = existing_run(run)
    result = LabelRun(store, name).summary(precision)
    found = read_audit(store, name, rule)
    card = write_card(store, result, rule)
    if json:
        print_json(
            {"labels": result.model_dump(mode="json"), "audit": found[1].model_dump(mode="json") if found else None}
        )
        return
    out.print(card, soft_wrap=True, markup=False, highlight=False)
    say(f"This card is in {store.where(labels_file(name, CARD))}.")


def audit_labels(
    run: RunArgument,
    name: NameArgument,
    candidates: Annotated[int, typer.Option("--candidates", min=20, help="About how many candidates to judge.")] = 400,
    precision: PrecisionOption = 0.95,
    key: Annotated[str, typer.Option("--as", help="Key of the new run; default: RUN-NAME-audit.")] = "",
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the random choice.")] = 13,
    json: JsonOption = False,
) -> None:
    """Make a run in which people judge a random sample of labels, half of them links by the threshold.

    Example: `abcdlink labels audit spring-news archive --candidates 400`
    """
    from abcdlink.stages.audit import make_audit, superseded
    from abcdlink.stages.candidates import read_counts
    from abcdlink.store import existing_run, open_run

    store = existing_run(run)
    plan = make_audit(store, name, precision, candidates, key, seed)
    counts, earlier = read_counts(open_run(plan.run)), superseded(store, name)
    if json:
        told = {"candidates": counts.candidates, "tasks": counts.pools, "superseded": earlier}
        print_json(plan.model_dump(mode="json") | told)
        return
    say(f"Run {plan.run} has {counts.candidates} candidates in {counts.pools} tasks.")
    if counts.candidates < candidates - 3 * candidates**0.5:  # chance alone draws hardly ever so few
        more = f"for more, label under another --name with a lower --floor, then audit those labels with {candidates}"
        say(f"These are fewer than the {candidates} asked for, as the labels hold no more that can be drawn; {more}.")
    if earlier:
        say(f"Only this audit of {name} counts from now on; earlier ones: {', '.join(earlier)}.")
    say(f"Have them judged: abcdlink annotate start {plan.run} --batches 1")
    say(f"Afterwards: abcdlink labels show {run} {name}")
