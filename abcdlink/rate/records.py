"""What is rated, and the ratings."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from abcdlink.corpus.records import PairKind, Record

LOWEST, HIGHEST = 1, 5


class RatedDocument(Record):
    """The source document of one pair, to be rated beside its target document; one Label Studio task.

    ``key``: opaque and stable name of the task. ``kind``: which corpus of the run holds the pair; never shown.
    """

    key: str
    kind: PairKind
    pair: str


class Rating(Record):
    """What one annotator said of one document by one criterion.

    ``annotator``: pseudonym (``rater-1``). ``seconds``: spent on the whole document, where known.
    ``comment``: on the document, whatever the criterion.
    """

    kind: PairKind
    pair: str
    annotator: str
    criterion: str
    value: int = Field(ge=LOWEST, le=HIGHEST)
    seconds: float | None = None
    submitted: datetime | None = None
    comment: str = ""
