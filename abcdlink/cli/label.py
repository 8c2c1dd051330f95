"""Commands that label pairs nobody judges: ``label`` and ``labels``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from abcdlink.cli.output import JsonOption, RunArgument, corpus_folder, out, print_json, print_table, say
from abcdlink.judgments import LabelRule
from abcdlink.progress import terminal

CorpusArgument = Annotated[str, typer.Argument(help="Corpus folder or s3:// prefix.", callback=corpus_folder)]
NameOption = Annotated[str, typer.Option("--name", help="Name of these labels in the run; default: the folder's name.")]
PrecisionOption = Annotated[
    float, typer.Option("--precision", min=0.01, max=1, help="Wanted precision of the links; sets the threshold.")
]
LinkerOption = Annotated[
    str, typer.Option("--linker", help="Learned linker of the run; may be left out when there is only one.")
]


NameArgument = Annotated[str, typer.Argument(help="Name of the labels in the run.")]
RuleOption = Annotated[LabelRule, typer.Option("--rule", help="What makes a judged candidate a link.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("label")(label)
    labels = typer.Typer(
        help="Labels that `abcdlink label` gave: show them, have a sample judged.", no_args_is_help=True
    )
    labels.command("show")(show)
    labels.command("audit")(audit)
    app.add_typer(labels, name="labels")


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
        int | None, typer.Option("--parts", min=1, help="Stop after so many parts and say what the rest will take.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Label a corpus of any size with a learned linker of the run; the same command continues an interrupted one.

    Example: `abcdlink label spring-news archive --precision 0.95`
    """
    from abcdlink.labels.parts import Sampling
    from abcdlink.stages.label import plan_labels, run_labels
    from abcdlink.store import existing_run

    store = existing_run(run)
    with terminal() as progress:
        sampling = Sampling(floor=floor)
        planned = plan_labels(store, corpus, name or Path(corpus).name, linker, sampling, progress)
        result = run_labels(planned, precision, parts, progress)
    if json:
        print_json(result.model_dump(mode="json") | {"seconds_to_go": result.seconds_to_go})
        return
    print_table(f"{run}: labels {result.name!r} by {result.linker}", ("", "count"), result.counted)
    for line in [*result.lines, *(f"Refused: {one.where}: {one.reason}" for one in result.examples)]:
        say(line)


def show(
    run: RunArgument,
    name: NameArgument,
    precision: PrecisionOption = 0.95,
    rule: RuleOption = LabelRule.BOTH,
    json: JsonOption = False,
) -> None:
    """Show labels and what the audit found, and write their data card.

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


def audit(
    run: RunArgument,
    name: NameArgument,
    candidates: Annotated[int, typer.Option("--candidates", min=20, help="About so many candidates are judged.")] = 400,
    precision: PrecisionOption = 0.95,
    key: Annotated[str, typer.Option("--as", help="Key of the new run; default: RUN-NAME-audit.")] = "",
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the random choice.")] = 13,
    json: JsonOption = False,
) -> None:
    """Make a run in which people judge a random sample of labels, half of them links by the threshold.

    Example: `abcdlink labels audit spring-news archive --candidates 400`
    """
    from abcdlink.stages.audit import make_audit
    from abcdlink.stages.candidates import read_counts
    from abcdlink.store import existing_run, open_run

    plan = make_audit(existing_run(run), name, precision, candidates, key, seed)
    counts = read_counts(open_run(plan.run))
    if json:
        print_json(plan.model_dump(mode="json") | {"candidates": counts.candidates, "tasks": counts.pools})
        return
    say(f"Run {plan.run} has {counts.candidates} candidates in {counts.pools} tasks.")
    say(f"Have them judged: abcdlink annotate start {plan.run} --batches 1")
    say(f"When they are: abcdlink labels show {run} {name}")
