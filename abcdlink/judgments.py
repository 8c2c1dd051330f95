"""Candidates shown to annotators, what annotators said about them, and how that becomes one label."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from pydantic import Field

from abcdlink.corpus.records import Corpus, Record, Refusal
from abcdlink.errors import SAVE_AS_UTF8, InputError
from abcdlink.store import parse_records

Place = tuple[str, str, str]
"""Pair, source and target sentence: a candidate, whoever proposed or judged it."""

BOTH = "both"
RANDOM = "random"
"""Methods beside the labels of the two shortlisted approaches."""

SECONDS_A_CANDIDATE = 11.0
"""What one annotator is assumed to take for one candidate, until a run has measured it."""


class AtPlace(Record):
    """What is about one candidate."""

    pair: str
    source: str
    target: str

    @property
    def at(self) -> Place:
        """The candidate."""
        return self.pair, self.source, self.target


class Candidate(Record):
    """A proposed target sentence; ``method`` says which approach proposed it, never shown."""

    target: str
    method: str


class Pool(Record):
    """The candidates shown together for one source sentence; one Label Studio task.

    ``key``: opaque and stable name of the task, made from run key, pair and source sentence.
    ``candidates``: in the order of the target document, so that their order tells nothing.
    """

    key: str
    batch: int = Field(ge=1)
    pair: str
    source: str
    candidates: tuple[Candidate, ...]


class Label(StrEnum):
    """What an annotator says of one candidate."""

    LINK = "Link"
    NO_LINK = "No Link"


class Judgment(AtPlace):
    """One annotator's Link / No Link on one candidate.

    ``annotator``: pseudonym within the run (``annotator-1``); ``seconds``: time spent on the whole
    task (all candidates of one source), where it is known. ``flags`` and ``comment``: what the
    annotator marked and wrote of the whole task. ``rest``: No Link by the one key for all candidates
    that were still undecided.
    """

    batch: int
    method: str
    annotator: str
    label: Label
    seconds: float | None = None
    submitted: datetime | None = None
    flags: tuple[str, ...] = ()
    comment: str = ""
    rest: bool = False


class Annotator(Record):
    """Who is behind a pseudonym; kept apart from judgments. ``simulated``: a program, not a person."""

    annotator: str
    account: str
    simulated: bool


class Skip(Record):
    """A task that an annotator skipped: done, but without judgments."""

    batch: int
    key: str
    annotator: str


class Said(Protocol):
    """What one annotator said of a candidate: a judgment, or an answer in a feedback round."""

    @property
    def at(self) -> Place:
        """The candidate."""

    @property
    def annotator(self) -> str:
        """Their pseudonym."""


S = TypeVar("S", bound=Said)


def by_candidate(judgments: Iterable[S]) -> dict[Place, dict[str, S]]:
    """Group judgments, or later answers: (pair, source, target) -> annotator -> judgment."""
    groups: dict[Place, dict[str, S]] = {}
    for judgment in judgments:
        groups.setdefault(judgment.at, {})[judgment.annotator] = judgment
    return groups


def in_reading_order(places: Iterable[Place], corpus: Corpus) -> list[Place]:
    """Sort candidates by pair, then by the places of source and target sentence."""
    pairs = {pair.id: (number, pair) for number, pair in enumerate(corpus.pairs)}

    def order(place: Place) -> tuple[int, int, int]:
        number, pair = pairs[place[0]]
        return number, corpus.source_of(pair).position[place[1]], corpus.target_of(pair).position[place[2]]

    return sorted(places, key=order)


class LabelRule(StrEnum):
    """What makes a judged candidate a link."""

    BOTH = "both"
    """All who judged it said Link: the paper's rule."""
    MAJORITY = "majority"
    """More than half of those who judged it said Link; no label when as many said No Link."""
    ADJUDICATED = "adjudicated"
    """All who judged it said Link, or they differ and the adjudicator did; no label while nobody has decided."""


class Provenance(StrEnum):
    """Where a label comes from, or why there is none."""

    UNANIMOUS = "unanimous"
    """All who judged it said this."""
    MAJORITY = "majority"
    """More than half said this, not all."""
    NOT_UNANIMOUS = "not unanimous"
    """Some said Link, not all: No Link by the rule ``both``."""
    TIE = "tie"
    """As many said Link as No Link: no label by the rule ``majority``."""
    ADJUDICATED = "adjudicated"
    """They differ, and an adjudicator said this."""
    NOT_ADJUDICATED = "not adjudicated"
    """They differ, and nobody has decided: no label by the rule ``adjudicated``."""
    INCOMPLETE = "incomplete"
    """Fewer judged it than were asked for: no label by any rule."""


MEANINGS = {
    LabelRule.BOTH: "a candidate is a link when all who judged it said Link",
    LabelRule.MAJORITY: "a candidate is a link when more than half of those who judged it said Link",
    LabelRule.ADJUDICATED: "a candidate is a link when all who judged it said Link, or, where they differ, an "
    "adjudicator did",
}
"""The rules in the words of a data card."""


class Verdict(NamedTuple):
    """A label (``None``: there is none) and where it comes from."""

    link: bool | None
    provenance: Provenance


def verdict(labels: Sequence[Label], rule: LabelRule, needed: int, decision: Label | None = None) -> Verdict:
    """Return the label of one candidate; it has none with fewer than ``needed`` judgments.

    ``decision``: what an adjudicator said; counts by the rule ``adjudicated``, where those who judged it differ.
    """
    links = sum(label is Label.LINK for label in labels)
    if len(labels) < needed:
        return Verdict(None, Provenance.INCOMPLETE)
    if links in (0, len(labels)):
        return Verdict(links > 0, Provenance.UNANIMOUS)
    if rule is LabelRule.BOTH:
        return Verdict(False, Provenance.NOT_UNANIMOUS)  # noqa: FBT003 - the label itself
    if rule is LabelRule.ADJUDICATED:
        adjudicated = Provenance.ADJUDICATED if decision else Provenance.NOT_ADJUDICATED
        return Verdict(decision is Label.LINK if decision else None, adjudicated)
    if 2 * links == len(labels):
        return Verdict(None, Provenance.TIE)
    return Verdict(2 * links > len(labels), Provenance.MAJORITY)


TASK_DIGITS = 16


def opaque(*parts: object, digits: int = TASK_DIGITS) -> str:
    """Return a stable name that tells annotators nothing: the first hex digits of the SHA-256 of the parts."""
    return hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()[:digits]


METHOD_NAMES = {"mutual": BOTH, "overlap": BOTH, "both": BOTH, "r+llm": "llm"}
"""Names in released files (lower case) for the same method."""

ID_COLUMNS = ("document_id", "source_id", "target_id", "method")
ANNOTATOR_COLUMN = re.compile(r"annotator_(\d+)")
LABELS = tuple(label.value for label in Label)


class JudgmentFile(Record):
    """The judgments of a file, and the rows that were left out with their reasons."""

    judgments: tuple[Judgment, ...]
    refused: tuple[Refusal, ...] = ()


def read_judgment_file(path: str | Path) -> JudgmentFile:
    """Read ``judgments.jsonl`` (any name) or, when the name ends in ``.csv``, a released table.

    A table has the columns ``document_id, source_id, target_id, method, annotator_1, annotator_2`` in
    any order, and may have more annotators and other columns. It does not name batches: the first half
    of its documents, by first appearance, is batch 1, the second half batch 2.

    Raises:
        InputError: when the file is missing, is not UTF-8, lacks a column or has a line that is not a record.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
    except FileNotFoundError:
        msg = f"there is no file {path}"
        raise InputError(msg, "give the path of a judgments.jsonl or an annotations.csv") from None
    except IsADirectoryError:
        msg = f"{path} is a folder"
        raise InputError(msg, "give the path of the judgments.jsonl or annotations.csv inside it") from None
    except UnicodeDecodeError as error:
        msg = f"{path} is not UTF-8 (byte {error.start})"
        raise InputError(msg, SAVE_AS_UTF8) from None
    if path.suffix.lower() == ".csv":
        return _read_table(text, path)
    return JudgmentFile(judgments=tuple(parse_records(data, Judgment, str(path))))


def _read_table(text: str, path: Path) -> JudgmentFile:
    reader = csv.DictReader(io.StringIO(text, newline=""))
    columns = reader.fieldnames or []
    annotators = [column for column in columns if ANNOTATOR_COLUMN.fullmatch(column)]
    missing = [column for column in (*ID_COLUMNS, "annotator_1", "annotator_2") if column not in columns]
    if missing:
        msg = f"{path} has no column {', '.join(missing)}"
        raise InputError(msg, f"add a header with {', '.join(ID_COLUMNS)}, annotator_1 and annotator_2")
    rows: dict[tuple[str, str, str], dict[str, str]] = {}
    refused = []
    for row in reader:
        where = f"{path}, line {reader.line_num}"
        at = (row["document_id"], row["source_id"], row["target_id"])
        reason = _reason_to_refuse(row, annotators) or ("the candidate was judged in an earlier row" * (at in rows))
        if reason:
            refused.append(Refusal(where=where, reason=reason, hint="fix or remove the row"))
        else:
            rows[at] = row
    batch_of = _halves(document for document, _, _ in rows)
    judgments = (
        Judgment(
            batch=batch_of[row["document_id"]],
            pair=row["document_id"],
            source=row["source_id"],
            target=row["target_id"],
            method=METHOD_NAMES.get(row["method"].strip().lower(), row["method"].strip()),
            annotator=column.replace("_", "-"),
            label=Label(row[column].strip()),
        )
        for row in rows.values()
        for column in annotators
        if (row[column] or "").strip()
    )
    return JudgmentFile(judgments=tuple(judgments), refused=tuple(refused))


def _reason_to_refuse(row: dict[str, str], annotators: list[str]) -> str:
    """Return why a row does not have two judgments on one candidate; empty when it does.

    Where there are more than two annotators, those who were not asked have an empty cell.
    """
    blank = [column for column in ID_COLUMNS if not (row[column] or "").strip()]
    if blank:
        return f"{', '.join(blank)} is blank"
    labels = [(row[column] or "").strip() for column in annotators]
    foreign = [label for label in labels if label and label not in LABELS]
    if foreign:
        return f"{foreign[0]!r} is not a label ({', '.join(LABELS)})"
    return "fewer than two annotators judged it" if sum(map(bool, labels)) < 2 else ""  # noqa: PLR2004 - two


def _halves(documents: Iterable[str]) -> dict[str, int]:
    """Return document -> 1 for the first half by first appearance, 2 for the second."""
    order = list(dict.fromkeys(documents))
    return {document: 1 + index * 2 // len(order) for index, document in enumerate(order)}
