"""What is known of dropped files, and what one take found."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from pydantic import Field

from abcdlink.corpus.records import Corpus, Record


class State(StrEnum):
    """How far a file is."""

    TAKING = "taking"
    TAKEN = "taken"
    DUPLICATE = "duplicate"
    QUARANTINED = "quarantined"


class Entry(Record):
    """What the ledger knows of a file name.

    ``digest``: SHA-256 of the file's bytes; ``history``: digests of its earlier versions, oldest first;
    ``offset``: bytes that are done; ``pairs`` and ``bad_lines``: taken and quarantined up to there.
    """

    name: str
    stamp: str
    digest: str
    state: State = State.TAKING
    history: tuple[str, ...] = ()
    offset: int = 0
    pairs: int = 0
    bad_lines: int = 0

    @property
    def version(self) -> int:
        """1 for the first content under this name, 2 for the next ..."""
        return len(self.history) + 1


class Quarantined(Record):
    r"""A file or line that cannot be used; the file itself stays where it is.

    ``offset``: byte offset in the file of the bad byte, or of the line; ``length``: bytes of the line
    or file; ``excerpt``: the bytes around the offset, those that are no text written as ``\xNN``.
    """

    name: str
    digest: str
    offset: int
    length: int
    reason: str
    mend: str
    excerpt: str = ""


class Known(Record):
    """Hashes of the documents and pairs that one take found in one version of a file, by id."""

    documents: dict[str, str] = Field(default_factory=dict)
    pairs: dict[str, str] = Field(default_factory=dict)


class Taken(Record):
    """What one take read of one file: new pairs, lines that an earlier version held as well, bad lines."""

    name: str
    digest: str
    version: int
    pairs: int
    unchanged: int
    bad_lines: int
    complete: bool


class Waiting(Record):
    """A file that is left for later, and why."""

    name: str
    reason: str


@dataclass
class DropResult:
    """What a take found. Store ``corpus``, then call ``settle``; until then the same is taken again.

    ``more``: there is more to take now, because the limit was reached. ``entries`` and ``known`` are
    for ``settle``.
    """

    corpus: Corpus
    taken: list[Taken] = field(default_factory=list)
    waiting: list[Waiting] = field(default_factory=list)
    quarantined: list[Quarantined] = field(default_factory=list)
    more: bool = False
    entries: list[Entry] = field(default_factory=list)
    known: dict[tuple[str, int], Known] = field(default_factory=dict)
