"""What a coordinator knows of applicants beside their judgments; personal data that never leaves the run."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field, ValidationError, field_validator

from abcdlink.corpus.records import Record
from abcdlink.errors import InputError
from abcdlink.qualify.kept import FOLDER
from abcdlink.store import Store, decode

SCREENING = f"{FOLDER}/screening.jsonl"
MOST_PROBLEMS = 5
"""So many lines that do not fit are named at once."""


class Screening(Record):
    """What is known of one account. Empty: not known. ``more``: other columns of the file.

    ``participant_id``: of the platform that the applicant came from, such as Prolific's.
    """

    account: str = Field(pattern=r"^[^@\s]+@[^@\s]+$")
    native_language: str = ""
    degree: str = ""
    approval_rate: float | None = Field(None, ge=0, le=100, description="in percent")
    participant_id: str = ""
    more: dict[str, str] = Field(default_factory=dict)

    @field_validator("approval_rate", mode="before")
    @classmethod
    def _percent(cls, value: object) -> object:
        text = value.strip().removesuffix("%").strip() if isinstance(value, str) else value
        return text or None if isinstance(text, str) else text


OWN = tuple(name for name in Screening.model_fields if name != "more")


def read_screening(path: Path) -> list[Screening]:
    """Read a CSV file with a column ``account`` and any of the other fields; one row an applicant.

    Raises:
        InputError: when the file or lines of it do not fit; names the lines.
    """
    try:
        text = decode(path.read_bytes(), str(path))
    except FileNotFoundError:
        msg = f"there is no file {path}"
        raise InputError(msg, f"write a CSV file with the columns {', '.join(OWN)}") from None
    rows = csv.DictReader(io.StringIO(text, newline=""), restkey="", restval=None)
    columns = [(name or "").strip() for name in rows.fieldnames or ()]
    if columns.count("account") != 1 or len(set(columns)) != len(columns) or "" in columns:
        msg = f"{path}, line 1: the columns need names of their own, and one is account, not {', '.join(columns)!r}"
        raise InputError(msg, f"name the columns {', '.join(OWN)}, and others as you like")
    rows.fieldnames = columns
    found, problems = _records(rows)
    if problems:
        rest = len(problems) - MOST_PROBLEMS
        told = "; ".join(problems[:MOST_PROBLEMS]) + (f"; and {rest} more" if rest > 0 else "")
        msg = f"{path}: {told}"
        raise InputError(msg, "fix these lines; nothing was taken from the file")
    return found


def _records(rows: csv.DictReader[str]) -> tuple[list[Screening], list[str]]:
    """Return what fits, and one sentence for each line that does not."""
    found: dict[str, Screening] = {}
    problems = []
    for row in rows:
        where = f"line {rows.line_num}"
        if "" in row or None in row.values():
            problems.append(f"{where}: not as many cells as columns")
            continue
        cells = {name: value.strip() for name, value in row.items()}
        own = {name: cells[name] for name in OWN if name in cells}
        more = {name: value for name, value in cells.items() if name not in OWN}
        try:
            record = Screening.model_validate({**own, "account": own["account"].lower(), "more": more})
        except ValidationError as error:
            problems += [f"{where}: {_in_words(one['loc'], own)}" for one in error.errors()]
            continue
        if record.account in found:
            problems.append(f"{where}: {record.account} stands in the file already")
        found[record.account] = record
    return list(found.values()), problems


def _in_words(place: tuple[int | str, ...], own: dict[str, str]) -> str:
    field = str(place[0])
    wants = "an e-mail address" if field == "account" else "a percentage from 0 to 100"
    return f"{field} {own[field]!r} is not {wants}"


def add_screening(store: Store, rows: Sequence[Screening]) -> list[Screening]:
    """Keep screening fields in a run, apart from all judgments; an account's later row replaces its former one."""
    merged = {one.account: one for one in (*screening_of(store).values(), *rows)}
    store.write_records(SCREENING, merged.values())
    return list(merged.values())


def screening_of(store: Store) -> dict[str, Screening]:
    """Return account, in small letters -> its screening fields."""
    kept = store.find_records(SCREENING, Screening)
    return {one.account: one for one in kept}
