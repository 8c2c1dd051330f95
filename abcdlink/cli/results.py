"""Commands on what annotators said: ``agreement``, ``report`` and ``export``."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from abcdlink.cli.output import JsonOption, RunArgument, out, print_json, print_table, say
from abcdlink.export import ExportFormat, LabelRule

if TYPE_CHECKING:
    from abcdlink.agreement import Agreement

MOST_LISTED = 3
"""Of more files than this, which then lie in one folder, only the folder is named."""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("agreement")(agreement)
    app.command("report")(report)
    app.command("export")(export)


def agreement(
    judgments: Annotated[Path, typer.Argument(help="Our judgments.jsonl or the released annotations.csv.")],
    json: JsonOption = False,
) -> None:
    """Compute Cohen's kappa and the acceptance rate of each method.

    Example: `abcdlink agreement .abcdlink/runs/demo/judgments.jsonl`
    """
    from abcdlink.agreement import agreement as compute
    from abcdlink.agreement import read_judgment_file

    read = read_judgment_file(judgments)
    result = compute(read.judgments)
    if json:
        print_json({**result.model_dump(mode="json"), "refused": len(read.refused)})
        return
    print_agreement(result, str(judgments))
    if read.refused:
        first = read.refused[0]
        say(f"Refused {len(read.refused)} rows; the first: {first.where}: {first.reason}")


def print_agreement(result: Agreement, title: str) -> None:
    """Print acceptance by method, and kappa over all and by batch."""
    rows = [
        (method, f"{a.accepted}/{a.candidates}", f"{a.rate:.1%}", f"{a.interval[0]:.1%} to {a.interval[1]:.1%}")
        for method, a in result.acceptance.items()
    ]
    print_table(f"{title}: acceptance", ("method", "accepted", "rate", "95 % interval"), rows)
    measured = {"all": result, **{f"batch {batch}": measures for batch, measures in result.batches.items()}}
    rows_of_kappa = [
        (
            name,
            m.judged,
            m.note if m.kappa is None else f"{m.kappa:.4f}",
            "" if m.interval is None else f"{m.interval[0]:.3f} to {m.interval[1]:.3f}",
            "" if m.observed is None else f"{m.observed:.3f}",
            "" if m.ac1 is None else f"{m.ac1:.3f}",
            "" if m.prevalence is None else f"{m.prevalence:.3f}",
        )
        for name, m in measured.items()
    ]
    columns = ("", "judged", "kappa", "95 % interval", "raw agreement", "AC1", "prevalence")
    print_table("Agreement", columns, rows_of_kappa)


def report(
    run: RunArgument,
    show: Annotated[bool, typer.Option("--open", help="Open it in the web browser.")] = False,
) -> None:
    """Write the run's report anew: one self-contained HTML file.

    Example: `abcdlink report demo --open`
    """
    from abcdlink.report import write_report
    from abcdlink.store import existing_run

    path = write_report(existing_run(run))
    out.print(path, soft_wrap=True)
    if show and not path.startswith("s3://"):
        webbrowser.open(Path(path).as_uri())


def export(
    run: RunArgument,
    layout: Annotated[ExportFormat, typer.Option("--format", help="Layout of the data set.")] = ExportFormat.JSONL,
    rule: Annotated[
        LabelRule,
        typer.Option("--rule", help="Who must call a candidate a link: all who judged it, most, or an adjudicator."),
    ] = LabelRule.BOTH,
    licence: Annotated[
        str, typer.Option("--licence", help="Licence of the data set, for the data card of huggingface: cc-by-4.0, ...")
    ] = "",
) -> None:
    """Write the run's judged candidates as a data set.

    Example: `abcdlink export demo --format csv`
    """
    from abcdlink.export import export_dataset
    from abcdlink.store import existing_run

    store = existing_run(run)
    exported = export_dataset(store, layout, rule, licence)
    for name in exported.files if len(exported.files) <= MOST_LISTED else {str(Path(exported.files[-1]).parent)}:
        out.print(store.where(name), soft_wrap=True, markup=False, highlight=False)
    say(f"{exported.candidates} candidates, {exported.links} links, {exported.unlabelled} without a label.")
    for reason, texts in exported.changes.items():
        say(f"Changed texts: {texts} ({reason}).")
    if layout is ExportFormat.HUGGINGFACE and not licence:
        say("The data card names no licence: give one with --licence.")
