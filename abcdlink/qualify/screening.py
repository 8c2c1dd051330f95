"""What a coordinator knows about applicants apart from their judgments; personal data that never leaves the run."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import Field, ValidationError, field_validator

from abcdlink.corpus.records import Record
from abcdlink.errors import InputError
from abcdlink.judgments import Annotator
from abcdlink.layout import QUALIFY_SLUG
from abcdlink.locks import lock_of
from abcdlink.store import Store
from abcdlink.utf8_lines import decode

SCREENING = f"{QUALIFY_SLUG}/screening.jsonl"
MOST_PROBLEMS = 5
"""Lines that do not fit, named in one message."""


class Screening(Record):
    """What is known of one account. Empty: not known. ``more``: other columns of the file.

    ``residence``: country. ``studies``: in which the applicant has taken part before. ``participant_id``, ``study_id``
    and ``session_id``: of the platform that they came from, such as Prolific's, by the link that they came with last.
    """

    account: str = Field(pattern=r"^[^@\s]+@[^@\s]+$")
    native_language: str = ""
    residence: str = ""
    degree: str = ""
    studies: int | None = Field(None, ge=0)
    approval_rate: float | None = Field(None, ge=0, le=100, description="in percent")
    participant_id: str = ""
    study_id: str = ""
    session_id: str = ""
    more: dict[str, str] = Field(default_factory=dict)

    @field_validator("studies", mode="before")
    @classmethod
    def _count(cls, value: object) -> object:
        return value.strip() or None if isinstance(value, str) else value

    @field_validator("approval_rate", mode="before")
    @classmethod
    def _percent(cls, value: object) -> object:
        text = value.strip().removesuffix("%").strip() if isinstance(value, str) else value
        return text or None if isinstance(text, str) else text


OWN = tuple(name for name in Screening.model_fields if name != "more")


ELIGIBILITY = f"{QUALIFY_SLUG}/eligibility.json"


COUNTRIES = {"united states": "us", "united kingdom": "uk", "canada": "ca", "australia": "au", "ireland": "ie"}
"""As Prolific writes countries -> as the paper and most coordinators do."""


def _folded(text: str) -> str:
    return COUNTRIES.get(text.casefold(), text.casefold())


class Eligibility(Record):
    """Who may be taken, by what is known of them apart from their judgments; empty: no rule."""

    native_languages: tuple[str, ...] = Field((), description="One of these; case does not matter.")
    residences: tuple[str, ...] = Field((), description="Lives in one of these countries.")
    degrees: tuple[str, ...] = Field((), description="Has one of these degrees.")
    approval_rate: float = Field(0.0, ge=0, le=100, description="At least this percentage of their work was approved.")
    studies: int = Field(0, ge=0, description="Has taken part in at least this many studies.")

    def reasons(self, known: Screening | None) -> tuple[str, ...]:
        """Return why someone is not eligible; nothing: they are. What a rule asks for and nobody knows is a reason."""
        known = known or Screening(account="nobody@known.invalid")
        choices = (
            ("native language", known.native_language, self.native_languages),
            ("residence", known.residence, self.residences),
            ("degree", known.degree, self.degrees),
        )
        found = [
            f"{what} {given!r} is not {' or '.join(accepted)}" if given else f"{what} is not known"
            for what, given, accepted in choices
            if accepted and _folded(given) not in set(map(_folded, accepted))
        ]
        for what, value, least in (
            ("approval rate", known.approval_rate, self.approval_rate),
            ("number of studies", known.studies, self.studies),
        ):
            if least and value is None:
                found.append(f"{what} is not known")
            elif value is not None and value < least:
                found.append(f"{what} {value:g} is below {least:g}")
        return tuple(found)


PAPER_ELIGIBILITY = Eligibility(
    native_languages=("English",),
    residences=("US", "UK", "CA", "AU", "IE"),
    degrees=("Master's degree", "PhD"),
    approval_rate=90,
    studies=30,
)
"""The paper's criteria."""


def keep_eligibility(store: Store, rules: Eligibility) -> None:
    """Keep a run's rules; the newest count."""
    store.write_record(ELIGIBILITY, rules)


def ineligible(store: Store, people: Sequence[Annotator]) -> dict[str, tuple[str, ...]]:
    """Return pseudonym -> why this applicant is not eligible by the run's rules; those who are, are not in it.

    Of a participant's accounts only the first is eligible.
    """
    rules, known = store.find_record(ELIGIBILITY, Eligibility) or Eligibility(), screening_of(store)
    found, first = dict[str, tuple[str, ...]](), dict[str, str]()
    for one in people:
        about = known.get(one.account.lower())
        earlier = first.setdefault(about.participant_id, one.annotator) if about and about.participant_id else ""
        again = (f"the same participant as {earlier}",) if earlier not in {"", one.annotator} else ()
        found[one.annotator] = (*again, *rules.reasons(about))
    return {name: reasons for name, reasons in found.items() if reasons}


class ScreeningFile(NamedTuple):
    """Rows of a file. ``strangers``: rows of participants who have no account in the run; they are left out."""

    rows: list[Screening]
    strangers: int


def read_screening(path: Path, known: Mapping[str, str] | None = None) -> ScreeningFile:
    """Read a CSV file, one row per applicant, with a column ``account`` or ``participant_id``; others may follow.

    Prolific's demographic export can be read as it is. ``known``: participant id -> account.

    Raises:
        InputError: when the file or lines of it do not fit; names the lines.
    """
    try:
        text = decode(path.read_bytes(), str(path))
    except OSError as error:
        msg = f"cannot read {path}: {error.strerror or error}"
        raise InputError(msg, f"give a CSV file with the columns {', '.join(OWN)}") from None
    rows = csv.DictReader(io.StringIO(text, newline=""), restkey="", restval=None)
    try:
        return _read_rows(rows, path, known or {})
    except csv.Error as error:
        msg = f"{path}, line {rows.line_num + 1}: {error}"
        raise InputError(msg, "save the table as CSV again; nothing was read from the file") from None


def _read_rows(rows: csv.DictReader[str], path: Path, known: Mapping[str, str]) -> ScreeningFile:
    names = [name.strip() for name in rows.fieldnames or ()]
    columns = [PROLIFIC.get(name, name) for name in names]
    if not {"account", "participant_id"} & {*columns} or len(set(columns)) != len(columns) or "" in columns:
        msg = f"{path}, line 1: account or participant_id must be a column, and none twice: {', '.join(names)!r}"
        raise InputError(msg, f"name the columns {', '.join(OWN)}; other columns are kept too")
    rows.fieldnames = columns
    found, problems = _records(rows, known)
    if problems:
        rest = len(problems) - MOST_PROBLEMS
        told = "; ".join(problems[:MOST_PROBLEMS]) + (f"; and {rest} more" if rest > 0 else "")
        msg = f"{path}: {told}"
        raise InputError(msg, "fix these lines; nothing was read from the file")
    return found


PROLIFIC = {
    "Participant id": "participant_id",
    "Country of residence": "residence",
    "Language": "native_language",
    "First language": "native_language",
    "Highest education level completed": "degree",
    "Total approvals": "studies",
}
"""Column of Prolific's demographic export -> ours."""
WITHDRAWN = {"DATA_EXPIRED", "CONSENT_REVOKED"}
"""What Prolific writes where it may no longer tell."""


def _records(rows: csv.DictReader[str], known: Mapping[str, str]) -> tuple[ScreeningFile, list[str]]:
    """Return what fits, and one sentence for each line that does not."""
    found: dict[str, Screening] = {}
    problems, strangers = [], 0
    for row in rows:
        where = f"line {rows.line_num}"
        if "" in row or None in row.values():
            problems.append(f"{where}: the number of cells differs from the number of columns")
            continue
        cells = {name: "" if value.strip() in WITHDRAWN else value.strip() for name, value in row.items()}
        own = {name: cells[name] for name in OWN if name in cells}
        more = {name: value for name, value in cells.items() if name not in OWN}
        if "account" not in own:
            if own["participant_id"] not in known:
                strangers += 1
                continue
            own["account"] = known[own["participant_id"]]
        try:
            record = Screening.model_validate({**own, "account": own["account"].lower(), "more": more})
        except ValidationError as error:
            problems += [f"{where}: {_in_words(one['loc'], own)}" for one in error.errors()]
            continue
        if record.account in found:
            problems.append(f"{where}: {record.account} is already in the file")
        found[record.account] = record
    return ScreeningFile(list(found.values()), strangers), problems


def _in_words(place: tuple[int | str, ...], own: dict[str, str]) -> str:
    field = str(place[0])
    wants = {"account": "an e-mail address", "studies": "a whole number"}.get(field, "a percentage from 0 to 100")
    return f"{field} {own[field]!r} is not {wants}"


def add_screening(store: Store, rows: Sequence[Screening]) -> list[Screening]:
    """Keep screening fields in a run, apart from all judgments.

    An account's later row replaces its earlier one, but for ids of a platform that it does not give.
    """
    with lock_of(f"{store.key}.screening"):
        known = screening_of(store)
        for row in rows:
            ids = {name: getattr(known[row.account], name) for name in IDS} if row.account in known else {}
            known[row.account] = row.model_copy(
                update={name: old for name, old in ids.items() if not getattr(row, name)}
            )
        store.write_records(SCREENING, known.values())
    return list(known.values())


IDS = ("participant_id", "study_id", "session_id")


def note_participants(store: Store, came: Iterable[Mapping[str, object]], accounts: Collection[str]) -> None:
    """Keep the platform's ids of those of some accounts that came from one; of several times the last.

    ``came``: account and ids of everyone who came, oldest first.
    """
    ours = {account.lower() for account in accounts}
    newest = {account: one for one in came if (account := str(one["account"]).lower()) in ours}
    if not newest:
        return
    with lock_of(f"{store.key}.screening"):
        known = screening_of(store)
        merged = dict(known)
        for account, one in newest.items():
            ids = {name: str(one[name]) for name in IDS}
            merged[account] = known.get(account, Screening(account=account)).model_copy(update=ids)
        if merged != known:
            store.write_records(SCREENING, merged.values())


def screening_of(store: Store) -> dict[str, Screening]:
    """Return account, in small letters -> its screening fields."""
    kept = store.find_records(SCREENING, Screening)
    return {one.account: one for one in kept}
