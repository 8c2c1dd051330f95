"""The commands of ``abcdlink`` that need Label Studio."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from abcdlink.cli.output import JsonOption, RunArgument, print_json, print_table, say
from abcdlink.errors import InputError
from abcdlink.folders import write_atomically
from abcdlink.layout import QUALIFY_SLUG

FORMULA = "=+-@\t\r"
"""Characters that begin a formula in a spreadsheet."""


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command("simulate")(simulate)
    group = next((one.typer_instance for one in app.registered_groups if one.name == "annotators"), None)
    if group is not None:
        group.command("pay")(pay)
        group.command("prolific")(prolific)


def pay(
    run: RunArgument,
    rate: Annotated[float, typer.Option(min=0, max=1_000_000, help="Hourly pay.")],
    currency: Annotated[str, typer.Option(help="Its currency.")] = "EUR",
    file: Annotated[Path | None, typer.Option("--csv", help="Also write the table to this file.")] = None,
    json: JsonOption = False,
) -> None:
    """Show what everyone has earned for their measured time in each project of a run. This is personal data.

    Unknown times, and times far above a person's others (a task left open over lunch), count as their median.

    Example: `abcdlink annotators pay spring --rate 13 --currency EUR --csv pay.csv`
    """
    from decimal import Decimal

    from abcdlink.store import existing_run
    from labelstudio_config.pay import pay_of

    hourly = Decimal(str(rate))
    if not hourly.is_finite():
        msg = f"--rate {rate} is not an amount"
        raise InputError(msg, "give the hourly pay, such as 13 or 12.50")
    rows = pay_of(existing_run(run), hourly)
    if file:
        _write_table(file, [{**row.model_dump(mode="json"), "rate": str(hourly), "currency": currency} for row in rows])
    if json:
        print_json({"rate": str(hourly), "currency": currency, "pay": [row.model_dump(mode="json") for row in rows]})
        return
    columns = ("account", "pseudonym", "participant", "work", "tasks", "estimated", "hours", currency)
    cells = [
        (
            *(row.account, row.annotator, row.participant_id, row.work, row.tasks, row.estimated),
            *("unknown" if row.hours is None else f"{row.hours:.2f}", row.amount),
        )
        for row in rows
    ]
    print_table(f"{run}: pay at {hourly} {currency} an hour", columns, cells, texts=4)
    for account in dict.fromkeys(row.account for row in rows):
        total = sum((row.amount for row in rows if row.account == account), Decimal(0))
        say(f"{account} has earned {total} {currency}.")
    say("As Label Studio was last read; `abcdlink status` reads it again while the run waits for people.")


def _write_table(file: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as a CSV that only its owner may read; no cell can be taken for a spreadsheet formula."""
    from labelstudio_config.pay import Pay

    text = io.StringIO()
    writer = csv.DictWriter(text, [*Pay.model_fields, "rate", "currency"])
    writer.writeheader()
    for row in rows:
        writer.writerow({n: f"'{v}" if isinstance(v, str) and v[:1] in FORMULA else v for n, v in row.items()})
    write_atomically(file, text.getvalue().encode("utf-8-sig"), mode=0o600)


def prolific(
    run: RunArgument,
    code: Annotated[str, typer.Option(help="Completion code, shown to those who have finished all their tasks.")] = "",
    project: Annotated[str, typer.Option(help="Project that the code is for, such as batch-1.")] = QUALIFY_SLUG,
    json: JsonOption = False,
) -> None:
    """Print the link for a study on Prolific, and set the completion code that participants see at the end.

    Their participant, study and session ids are kept with their accounts, among the screening fields.

    Example: `abcdlink annotators prolific spring --code C1A2B3C4`
    """
    from abcdlink.store import existing_run
    from labelstudio_config.run import is_pushed, label_studio, pushed_slugs, read_pushed

    store = existing_run(run)
    if not is_pushed(store, project):
        msg = f"run {run!r} has no project {project!r} in Label Studio"
        raise InputError(msg, f"name one of these: {', '.join(pushed_slugs(store)) or 'there are none yet'}")
    client = label_studio()
    if code:
        client.set_code(read_pushed(store, project).shared_title, code)
    link = client.study_link()
    if json:
        print_json({"run": run, "project": project, "link": link, "code": code})
        return
    say(f"Study link: {link}")
    say(f"Participants who finish {project} are shown {code}." if code else "No completion code was set (--code).")


def simulate(
    run: RunArgument,
    batch: Annotated[int, typer.Option(min=1, help="Batch number.")] = 1,
    accounts: Annotated[int, typer.Option(min=1, max=20, help="Number of simulated annotators.")] = 2,
    seed: Annotated[int, typer.Option(help="Random seed for their mistakes.")] = 13,
    json: JsonOption = False,
) -> None:
    """Let programs annotate a batch that is in Label Studio, for demonstrations and tests.

    They use real accounts named simulated-N@simulated.invalid and follow the pairs' gold links,
    with random mistakes: the first is strict, the last lenient, and from batch 2 on all err half as
    often. They are marked as simulated in the manifest, the report and the tags of the run.

    Example: `abcdlink simulate demo --batch 1`
    """
    from abcdlink.settings import get_settings
    from abcdlink.store import existing_run
    from labelstudio_config.simulate import simulate_batch

    store, settings = existing_run(run), get_settings()
    url, token = settings.label_studio_url, settings.label_studio_token.get_secret_value()
    say(f"{accounts} simulated annotators are working on batch {batch} of run {run!r} at {url}")
    result = simulate_batch(store, url, token, batch, accounts, seed)
    if json:
        print_json(result.model_dump())
        return
    print_table(f"{run}: batch {batch}", ("account", "tasks submitted"), list(result.submitted.items()))
