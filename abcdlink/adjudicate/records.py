"""What was decided on a candidate on which annotators differ."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from abcdlink.corpus.records import Record
from abcdlink.judgments import Label, Place


class Adjudication(Record):
    """The decision on one disputed candidate.

    ``adjudicator``: pseudonym; that of an annotator where one of the annotators decided. ``comment``: on
    the whole task. ``consensus``: the adjudicator is one of those who judged this candidate, alone or
    speaking for all of them: the decision is no view from outside.
    """

    batch: int
    pair: str
    source: str
    target: str
    adjudicator: str
    label: Label
    comment: str = ""
    consensus: bool
    submitted: datetime | None = None

    @property
    def at(self) -> Place:
        """The candidate that was decided on."""
        return self.pair, self.source, self.target


def by_place(adjudications: Iterable[Adjudication]) -> dict[Place, Adjudication]:
    """Return (pair, source, target) -> what was decided."""
    return {adjudication.at: adjudication for adjudication in adjudications}
