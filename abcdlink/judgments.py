"""Candidates shown to annotators, and what annotators said of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from pydantic import Field

from abcdlink.corpus.records import Record

Place = tuple[str, str, str]
"""Pair, source and target sentence: a candidate, whoever proposed or judged it."""

BOTH = "both"
RANDOM = "random"
"""Methods beside the labels of the two shortlisted approaches."""


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


class Judgment(Record):
    """One annotator's Link / No Link on one candidate.

    ``annotator``: pseudonym within the run (``annotator-1``); ``seconds``: time spent on the whole
    task (all candidates of one source), where it is known. ``flags`` and ``comment``: what the
    annotator marked and wrote of the whole task.
    """

    batch: int
    pair: str
    source: str
    target: str
    method: str
    annotator: str
    label: Label
    seconds: float | None = None
    submitted: datetime | None = None
    flags: tuple[str, ...] = ()
    comment: str = ""

    @property
    def at(self) -> Place:
        """The candidate that was judged."""
        return self.pair, self.source, self.target


class Annotator(Record):
    """Who stands behind a pseudonym; kept apart from judgments. ``simulated``: a program, not a person."""

    annotator: str
    account: str
    simulated: bool


class Skip(Record):
    """A task that an annotator skipped: done, but without judgments."""

    batch: int
    key: str
    annotator: str


def by_candidate(judgments: Sequence[Judgment]) -> dict[Place, dict[str, Judgment]]:
    """Group judgments: (pair, source, target) -> annotator -> judgment."""
    groups: dict[Place, dict[str, Judgment]] = {}
    for judgment in judgments:
        groups.setdefault(judgment.at, {})[judgment.annotator] = judgment
    return groups
