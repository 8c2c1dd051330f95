"""What one take reads of one file: new pairs, pairs that are known already, bad lines."""

from __future__ import annotations

import hashlib

from abcdlink.corpus.lines import DropLine
from abcdlink.corpus.records import Document, Pair, Record
from abcdlink.drops.lines import BadLineError, Line, parse
from abcdlink.drops.records import Entry, Known, Quarantined
from abcdlink.errors import InputError
from abcdlink.segmentation import Segmenter


class Part:
    """Collects the lines of one file that one take reads.

    Args:
        entry: what the ledger knows of the file.
        before: what earlier versions of the file held.
    """

    def __init__(self, entry: Entry, before: Known) -> None:
        self.entry, self.before = entry, before
        self.offset = entry.offset
        self.pairs: list[tuple[int, tuple[Document, Document, Pair]]] = []
        self.bad: list[Quarantined] = []
        self.unchanged = 0
        self.found = Known()

    def add(self, line: Line, segmenter: Segmenter) -> None:
        """Add a line: as a pair, as one that is known, or to the quarantine."""
        self.offset = line.offset + line.length
        try:
            drop = parse(line)
            if drop and self._is_new(drop):
                self.pairs.append((line.offset, self._renamed(drop).records(segmenter)))
        except InputError as error:
            bad = error if isinstance(error, BadLineError) else BadLineError(error.problem, error.mend)
            self.bad.append(
                Quarantined(
                    name=self.entry.name,
                    digest=self.entry.digest,
                    offset=line.offset + bad.offset,
                    length=line.length,
                    reason=bad.problem,
                    mend=bad.mend,
                    excerpt=bad.excerpt,
                )
            )

    def _is_new(self, drop: DropLine) -> bool:
        for document in (drop.source, drop.target):
            self.found.documents[document.id] = _hash(document)
        self.found.pairs[drop.pair] = _hash(drop)
        known = self.before.pairs.get(drop.pair) == self.found.pairs[drop.pair]
        self.unchanged += known
        return not known

    def _renamed(self, drop: DropLine) -> DropLine:
        """Give ids that held other content in an earlier version the number of this version."""
        documents = {
            side: document.model_copy(
                update={"id": self._name(document.id, self.before.documents, self.found.documents)}
            )
            for side, document in (("source", drop.source), ("target", drop.target))
        }
        return drop.model_copy(update={"pair": self._name(drop.pair, self.before.pairs, self.found.pairs), **documents})

    def _name(self, item: str, before: dict[str, str], now: dict[str, str]) -> str:
        return item if before.get(item, now[item]) == now[item] else f"{item}@{self.entry.version}"


def _hash(line: Record) -> str:
    return hashlib.sha256(line.model_dump_json().encode()).hexdigest()
