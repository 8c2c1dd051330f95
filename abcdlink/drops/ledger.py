"""What is known of dropped files: one entry a file name, kept beside the runs and replaced whole."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from pydantic import Field

from abcdlink.corpus.records import Corpus, Record
from abcdlink.errors import counted
from abcdlink.folders import Folder, open_folder
from abcdlink.utf8_lines import parse_records

LEDGER = "ledger.jsonl"
QUARANTINE = "quarantine"
KNOWN = "known"
SOURCE = "source.txt"
MOST_LISTED = 10
"""Lines of a file that are listed; all are in the ledger."""


class State(StrEnum):
    """How far a file is."""

    TAKING = "taking"
    TAKEN = "taken"
    DUPLICATE = "duplicate"
    QUARANTINED = "quarantined"


class Entry(Record):
    """What the ledger knows of a file name.

    ``digest``: SHA-256 of the file's bytes; ``history``: digests of its earlier versions, oldest first;
    ``offset``: bytes that are done, of what is in the file where that is compressed with ``gzip``; ``lines``: those up
    to there; ``pairs`` and ``bad_lines``: taken and quarantined of them.
    """

    name: str
    stamp: str
    digest: str
    state: State = State.TAKING
    history: tuple[str, ...] = ()
    gzip: bool = False
    offset: int = 0
    lines: int = 0
    pairs: int = 0
    bad_lines: int = 0

    @property
    def version(self) -> int:
        """1 for the first content under this name, 2 for the next ..."""
        return len(self.history) + 1


class Quarantined(Record):
    r"""A file or line that cannot be used; the file itself stays where it is.

    ``line``: its number from 1, 0 for a whole file; ``offset``: byte offset in the file of the bad byte, or of the
    line; ``length``: bytes of the line or file; ``excerpt``: the bytes around the offset, those that are not text
    written as ``\xNN``.
    """

    name: str
    digest: str
    offset: int
    length: int
    reason: str
    hint: str
    line: int = 0
    excerpt: str = ""

    @property
    def text(self) -> str:
        """Where it is, why it cannot be used, and what to do."""
        return f"{self.where}{self.reason}; {self.hint}"

    @property
    def where(self) -> str:
        """What goes before the reason: the line, unless this is the whole file."""
        return f"line {self.line}: " if self.line else ""


class Known(Record):
    """Hashes of the documents and pairs that a file held, by id; one id may have had several, with blanks between."""

    documents: dict[str, str] = Field(default_factory=dict)
    pairs: dict[str, str] = Field(default_factory=dict)


def add_hash(hashes: dict[str, str], name: str, content: str) -> None:
    """Add the hash of a document or pair, or several with blanks between, to those of one id."""
    hashes[name] = " ".join(dict.fromkeys([*hashes.get(name, "").split(), *content.split()]))


class Taken(Record):
    """What one take read of one file: new pairs, lines with pairs that were taken before, bad lines."""

    name: str
    digest: str
    version: int
    pairs: int
    unchanged: int
    bad_lines: int
    complete: bool


class WaitingFile(Record):
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
    waiting: list[WaitingFile] = field(default_factory=list)
    quarantined: list[Quarantined] = field(default_factory=list)
    more: bool = False
    entries: list[Entry] = field(default_factory=list)
    known: dict[tuple[str, int], Known] = field(default_factory=dict)


def open_ledger(root: str, name: str, source: str) -> Folder:
    """Return the folder of a source's ledger below ``root``.

    ``name``: of the folder. Sources that differ in case or punctuation alone have one name: it stays with the first
    of them, and the others have their own.
    """
    owner = source.rstrip("/") if source.startswith("s3://") else os.path.abspath(source)  # noqa: PTH100 - as text
    ledger = open_folder(f"{root}/{name}")
    if not ledger.exists(SOURCE):
        ledger.write(SOURCE, owner.encode())
    if ledger.read(SOURCE) == owner.encode():
        return ledger
    return open_folder(f"{root}/{name}-{hashlib.sha256(owner.encode()).hexdigest()[:8]}")


def read_ledger(ledger: Folder) -> dict[str, Entry]:
    """Return the entries by file name; empty before the first ``settle``."""
    if not ledger.exists(LEDGER):
        return {}
    return {entry.name: entry for entry in parse_records(ledger.read(LEDGER), Entry, ledger.where(LEDGER))}


def read_known(ledger: Folder, digests: Iterable[str]) -> Known:
    """Return what files with these digests held."""
    all_known = Known()
    for digest in digests:
        for name in ledger.names(f"{KNOWN}/{digest}/"):
            known = Known.model_validate_json(ledger.read(name))
            for document, content in known.documents.items():
                add_hash(all_known.documents, document, content)
            for pair, content in known.pairs.items():
                add_hash(all_known.pairs, pair, content)
    return all_known


def accounts(ledger: Folder) -> Iterator[str]:
    """Say for each file that is in the ledger how far it is, and what in it cannot be used and why."""
    for entry in sorted(read_ledger(ledger).values(), key=lambda one: one.name):
        yield f"{entry.name}: {entry.state}, {counted(entry.pairs, 'pair')}"
        kept = [ledger.read(name) for name in ledger.names(f"{QUARANTINE}/{entry.digest}/")]
        bad = sorted((Quarantined.model_validate_json(data) for data in kept), key=lambda one: one.offset)
        yield from (f"  {one.text}" for one in bad[:MOST_LISTED])
        if len(bad) > MOST_LISTED:
            yield f"  and {counted(len(bad) - MOST_LISTED, 'more line')}, in {ledger.where(QUARANTINE)}"


def settle(ledger: Folder, result: DropResult) -> None:
    """Record that a take is done: call it when the result's corpus is stored safely.

    The ledger file is written last, so that a kill before it leads to the same take again.
    """
    for (digest, offset), known in result.known.items():
        ledger.write(f"{KNOWN}/{digest}/{offset}.json", known.model_dump_json().encode())
    for item in result.quarantined:
        content = json.dumps(item.model_dump(), ensure_ascii=False, indent=2)
        ledger.write(f"{QUARANTINE}/{item.digest}/{item.offset}.json", content.encode())
    if result.entries:
        entries = read_ledger(ledger) | {entry.name: entry for entry in result.entries}
        ledger.write(LEDGER, "".join(entry.model_dump_json() + "\n" for entry in entries.values()).encode())
