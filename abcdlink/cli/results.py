"""Commands on what annotators judged, and on who they are."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from abcdlink.cli.agreement_details import multiple_lines, print_details
from abcdlink.cli.output import (
    JsonOption,
    RunArgument,
    RunDomainOption,
    listed,
    out,
    print_json,
    print_rows,
    print_table,
    say,
)
from abcdlink.errors import InputError, counted
from abcdlink.export import ExportFormat
from abcdlink.judgments import LabelRule

if TYPE_CHECKING:
    from abcdlink.interannotator.measures import Agreement


MOST_LISTED = 3
"""With more files than this, which are then in one folder, only the folder is printed."""

OpenOption = Annotated[bool, typer.Option("--open", help="Open it in the web browser.")]


def agreement(
    judgments: Annotated[
        Path, typer.Argument(help="A run's judgments.jsonl, or annotations.csv as the paper released it.")
    ],
    width: Annotated[
        float, typer.Option("--width", help="Wanted width of the 95 % interval: how many more pairs it would take.")
    ] = 0.1,
    every: Annotated[
        bool,
        typer.Option("--all", help="Also print tables by pair, of the learning curve, and of parts of each batch."),
    ] = False,
    needed: Annotated[
        int | None, typer.Option(min=1, help="Judgments that a candidate needs to count; default: 2.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Compute agreement, acceptance of each method, time, and how many more pairs are needed.

    Example: `abcdlink agreement .abcdlink/runs/demo/judgments.jsonl --width 0.1`
    """
    from abcdlink.interannotator import details
    from abcdlink.interannotator.measures import agreement as compute
    from abcdlink.judgment_file import read_judgment_file

    read = read_judgment_file(judgments)
    if not read.judgments:
        msg = f"{judgments} has no judgments"
        if read.refused:
            msg += f": all {len(read.refused)} rows were refused; the first: {read.refused[0].why}"
        raise InputError(msg, "fix the rows, or give a judgments.jsonl or annotations.csv with judgments")
    result, more = compute(read.judgments, needed), details(read.judgments, needed, width=width)
    if json:
        found = {**result.model_dump(mode="json"), "details": more.model_dump(mode="json")}
        print_json({**found, "refused": len(read.refused)})
        return
    print_agreement(result, str(judgments))
    print_details(more, tables=every)
    if read.refused:
        say(f"Refused {counted(len(read.refused), 'row')}; the first: {read.refused[0].line}")


def print_agreement(result: Agreement, title: str) -> None:
    """Print acceptance by method, and agreement over all, by batch, method and pair of annotators."""
    print_rows(f"{title}: acceptance", [{"method": method, **one.row} for method, one in result.acceptance.items()])
    measured = {
        "all": result,
        **{f"batch {batch}": measures for batch, measures in result.batches.items()},
        **{f"method {method}": measures for method, measures in result.methods.items()},
        **(result.annotator_pairs if len(result.annotator_pairs) > 1 else {}),
    }
    print_rows("Agreement", [{"": name, **one.row} for name, one in measured.items()])
    for line in multiple_lines(result.multiple) if result.multiple else ():
        out.print(line, soft_wrap=True, highlight=False)
    if result.incomplete:
        say(f"{counted(result.incomplete, 'candidate')} with fewer judgments than were asked for: in no figure.")


def report(run: RunArgument, show: OpenOption = False, json: JsonOption = False) -> None:
    """Regenerate the run's report, one self-contained HTML file, and the page of links beside it.

    Example: `abcdlink report demo --open`
    """
    from abcdlink.report import write_report
    from abcdlink.store import existing_run

    _tell_page(write_report(existing_run(run)), show, json)


def links(run: RunArgument, show: OpenOption = False, json: JsonOption = False) -> None:
    """Show every pair side by side with its candidates: votes, feedback, adjudication, method, probability.

    One HTML page that works offline, with filters, search, copy and export; for many pairs an index and several pages.

    Example: `abcdlink links demo --open`
    """
    from abcdlink.report.links import write_links
    from abcdlink.store import existing_run

    _tell_page(write_links(existing_run(run)), show, json)


def _tell_page(path: str, show: bool, json: bool) -> None:
    if json:
        print_json({"path": path})
    else:
        out.print(path, soft_wrap=True)
    open_page(path, show)


def open_page(path: str, show: bool) -> None:
    """Open a page in the web browser if that is wanted and it is on this machine."""
    if show and not path.startswith("s3://"):
        webbrowser.open(Path(path).as_uri())


def export(
    run: RunArgument,
    layout: Annotated[ExportFormat, typer.Option("--format", help="Layout of the data set.")] = ExportFormat.JSONL,
    rule: Annotated[
        LabelRule,
        typer.Option(
            "--rule", help="Who must call a candidate a link: all who judged it, most of them, or an adjudicator."
        ),
    ] = LabelRule.BOTH,
    needed: Annotated[
        int | None,
        typer.Option(min=1, help="Judgments that a candidate needs for a label; default: as many as were asked for."),
    ] = None,
    licence: Annotated[
        str, typer.Option("--licence", help="Licence of the data set, for the data card of huggingface: cc-by-4.0, ...")
    ] = "",
    json: JsonOption = False,
) -> None:
    """Write the run's judged candidates as a data set.

    Example: `abcdlink export demo --format csv`
    """
    from abcdlink.export import export_dataset
    from abcdlink.store import existing_run

    store = existing_run(run)
    exported = export_dataset(store, layout, rule, licence, needed)
    if json:
        print_json(exported.model_dump(mode="json"))
        return
    for name in exported.files if len(exported.files) <= MOST_LISTED else {str(Path(exported.files[-1]).parent)}:
        out.print(store.where(name), soft_wrap=True, markup=False, highlight=False)
    say(f"{exported.candidates} candidates, {exported.links} links, {exported.unlabelled} without a label.")
    for reason, texts in exported.changes.items():
        say(f"Changed texts: {texts} ({reason}).")
    if layout is ExportFormat.HUGGINGFACE and not licence:
        say("The data card names no licence: give one with --licence.")


def accept(
    run: RunArgument,
    files: Annotated[
        list[str] | None, typer.Argument(help="Names below the run's folder; default: only list what was changed.")
    ] = None,
) -> None:
    """Accept manual changes to files that a run wrote; otherwise it refuses such files.

    Example: `abcdlink accept spring judgments.jsonl`
    """
    from abcdlink.errors import InputError
    from abcdlink.store import existing_run

    store = existing_run(run)
    changed = store.changed()
    for name in files or ():
        if name not in changed:
            msg = f"{name} of run {run!r} is unchanged, or its SHA-256 is not kept"
            raise InputError(msg, f"changed files: {', '.join(changed) or 'none'}")
    for name in files or ():
        store.accept(name)
        say(f"Accepted {name} as it is now.")
    if not files:
        typer.echo("\n".join(changed), nl=bool(changed))
    if not changed:
        say("No result was changed.")


def show_recall(
    run: RunArgument,
    domain: RunDomainOption = "",
    rule: Annotated[
        Literal["both", "majority"],
        typer.Option("--rule", help="Who must call a target a link: all who judged it, or most of them."),
    ] = "both",
    approaches: Annotated[
        str,
        typer.Option("--approaches", help="More approaches of the benchmark, by name, whose rankings are in the run."),
    ] = "",
    json: JsonOption = False,
) -> None:
    """Measure true recall, precision and F1 on the sources for which every target sentence was judged.

    Example: `abcdlink exhaustive show spring-news --rule majority`
    """
    from abcdlink.domain import domain_of
    from abcdlink.exhaustive import rows_of
    from abcdlink.stages.exhaustive import measure_recall
    from abcdlink.store import existing_run

    store = existing_run(run)
    result = measure_recall(store, domain_of(store, domain), LabelRule(rule), listed(approaches))
    if json:
        print_json(result.model_dump(mode="json"))
        return
    print_rows(f"{run}: true recall", rows_of(result), texts=3)
    for sentence in result.words:
        say(f"{sentence}.")


def show_people(run: RunArgument, json: JsonOption = False) -> None:
    """Show who is behind each pseudonym. This is personal data, for the coordinator.

    Example: `abcdlink annotators show spring`
    """
    from abcdlink.annotators import people_of
    from abcdlink.store import existing_run

    people = people_of(existing_run(run))
    if json:
        print_json({"run": run, "people": [one.model_dump() for one in people]})
    else:
        rows = [(one.annotator, one.account, "program" if one.simulated else "person") for one in people]
        print_table(f"{run}: people", ("pseudonym", "account", "who"), rows)


def forget(
    run: RunArgument,
    account: Annotated[str, typer.Argument(help="E-mail address of the account.")],
) -> None:
    """Remove an annotator's account from all files of a finished run; judgments and pseudonym stay.

    Example: `abcdlink annotators forget spring ada@example.org`
    """
    from abcdlink.annotators import forget as remove
    from abcdlink.store import existing_run

    names = remove(existing_run(run), account)
    say(f"Removed {account} from {len(names)} files of run {run}.")
    say("The account itself, with its record of their tasks, is still in Label Studio: delete it there.")
