"""Candidates shown to annotators, what annotators said about them, and how that becomes one label."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol, TypeVar

from pydantic import Field

from abcdlink.corpus.records import Corpus, Record

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


def opaque_id(*parts: object, digits: int = TASK_DIGITS) -> str:
    """Return a stable name that tells annotators nothing: the first hex digits of the SHA-256 of the parts."""
    return hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()[:digits]
