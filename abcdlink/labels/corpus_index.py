"""A corpus of any size on disk; any of its pairs can be read without reading the others.

A corpus folder is two files of JSON Lines. They are read once, line by line, into one SQLite file in the cache.
"""

from __future__ import annotations

import hashlib
import heapq
import sqlite3
import uuid
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any, BinaryIO, NamedTuple

from abcdlink.corpus.builder import CorpusBuilder
from abcdlink.corpus.io import DOCUMENTS, PAIRS
from abcdlink.corpus.records import Corpus, Document, Pair, Record, Refusal
from abcdlink.errors import InputError
from abcdlink.folders import Folder, open_folder
from abcdlink.progress import Progress, silent
from abcdlink.settings import get_settings
from abcdlink.utf8_lines import parse_records

LAYOUT = 1
"""Version of the tables, in the file's name."""
LOOKUP = 500
"""Ids in one query, below SQLite's limit on variables."""
CHUNK = 1 << 16

TABLES = """
CREATE TABLE documents (id TEXT NOT NULL, line INTEGER NOT NULL, sentences INTEGER NOT NULL, record BLOB NOT NULL);
CREATE TABLE pairs (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, line INTEGER NOT NULL,
    source TEXT NOT NULL, target TEXT NOT NULL, record BLOB NOT NULL
);
CREATE TABLE refused (record TEXT NOT NULL);
CREATE INDEX document_ids ON documents (id);
"""


class PairSize(NamedTuple):
    """A pair by number, in file order from 0, and how many pairs of sentences it has."""

    number: int
    cells: int


class CorpusIndex:
    """Pairs of a corpus folder, local or ``s3://``, by number; ``digest``: SHA-256 of the corpus's two files.

    Raises:
        InputError: when a file is missing, or a line is not a record; the line is named.
    """

    def __init__(self, folder: str, progress: Progress = silent) -> None:
        self.folder = folder
        self._folder = open_folder(folder)
        for name in (DOCUMENTS, PAIRS):
            if not self._folder.exists(name):
                msg = f"there is no corpus at {self._folder.where()}: {name} is missing"
                raise InputError(msg, "make one with `abcdlink import FORMAT SOURCE --out FOLDER`")
        self.digest = _digest(self._folder)
        self._path = get_settings().cache_root / "corpora" / f"{self.digest[:32]}.v{LAYOUT}.sqlite"
        if not self._path.exists():
            self._make(progress)

    def sizes(self) -> Iterator[PairSize]:
        """Yield all pairs in file order; a pair whose documents are missing has no cells."""
        sentences = "(SELECT max(sentences) FROM documents WHERE documents.id = pairs.{side})"
        cells = f"{sentences.format(side='source')} * {sentences.format(side='target')}"
        query = f"SELECT number, coalesce({cells}, 0) FROM pairs ORDER BY number"  # noqa: S608 - our own words
        with closing(self._open()) as connection:
            for row in connection.execute(query):
                yield PairSize(*row)

    def sample(self, count: int, seed: int) -> tuple[int, ...]:
        """Return the numbers of ``count`` pairs chosen at random, all when there are no more, in file order."""

        def drawn(pair: str) -> bytes:
            return hashlib.sha256(f"{seed}|{pair}".encode()).digest()

        with closing(self._open()) as connection:
            rows = connection.execute("SELECT number, id FROM pairs")
            return tuple(sorted(row[0] for row in heapq.nsmallest(count, rows, key=lambda row: drawn(row[1]))))

    def numbers_of(self, pairs: Collection[str]) -> list[int]:
        """Return the numbers of some pairs, in file order."""
        with closing(self._open()) as connection:
            return sorted(
                number for number, _ in _where_in(connection, "SELECT number, id FROM pairs WHERE id", [*pairs])
            )

    def read(self, numbers: Iterable[int], name: str = "") -> Corpus:
        """Return some pairs with their documents, without gold links.

        What cannot be used (a document that is missing or without text, two texts under one id) is refused in the
        corpus that is returned, as when a whole corpus is read.
        """
        builder = CorpusBuilder(name or self.folder)
        with closing(self._open()) as connection:
            pairs = []
            for row in _where_in(connection, "SELECT line, record FROM pairs WHERE number", list(numbers)):
                pair = Pair.model_validate_json(zlib.decompress(row[1]))
                pairs.append((row[0], pair.model_copy(update={"links": None})))
            wanted = dict.fromkeys(document for _, pair in pairs for document in (pair.source, pair.target))
            for line, record in _where_in(connection, "SELECT line, record FROM documents WHERE id", list(wanted)):
                document = Document.model_validate_json(zlib.decompress(record))
                builder.add_document(f"{DOCUMENTS}, line {line}", document)
        for line, pair in sorted(pairs, key=lambda one: one[0]):
            builder.add_pair(f"{PAIRS}, line {line}", pair)
        return builder.build()

    def refused(self) -> Iterator[Refusal]:
        """Yield the pairs that were left out when the index was made."""
        with closing(self._open()) as connection:
            for (record,) in connection.execute("SELECT record FROM refused"):
                yield Refusal.model_validate_json(record)

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=60)

    def _make(self, progress: Progress) -> None:
        """Read both files; the index gets its name only when it is complete."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._path.with_name(f".{uuid.uuid4().hex}.tmp")
        try:
            with closing(sqlite3.connect(temporary)) as connection, connection:
                connection.executescript(TABLES)
                self._take_documents(connection, progress)
                self._take_pairs(connection, progress)
            temporary.replace(self._path)
        finally:
            temporary.unlink(missing_ok=True)

    def _take_documents(self, connection: sqlite3.Connection, progress: Progress) -> None:
        with self._folder.open(DOCUMENTS) as file:
            for line, text in progress(_lines(file), f"index {DOCUMENTS}"):
                for one in parse_records(text, Document, self._folder.where(DOCUMENTS), first_line=line):
                    row = (one.id, line, len(one.sentences), _packed(one))
                    connection.execute("INSERT INTO documents VALUES (?, ?, ?, ?)", row)

    def _take_pairs(self, connection: sqlite3.Connection, progress: Progress) -> None:
        number = 0
        with self._folder.open(PAIRS) as file:
            for line, text in progress(_lines(file), f"index {PAIRS}"):
                for one in parse_records(text, Pair, self._folder.where(PAIRS), first_line=line):
                    row = (number, one.id, line, one.source, one.target, _packed(one))
                    if connection.execute("INSERT OR IGNORE INTO pairs VALUES (?, ?, ?, ?, ?, ?)", row).rowcount:
                        number += 1
                        continue
                    reason, hint = f"a second pair has the id {one.id!r}", "give every pair its own id"
                    refusal = Refusal(where=f"{PAIRS}, line {line}", reason=reason, hint=hint)
                    connection.execute("INSERT INTO refused VALUES (?)", (refusal.model_dump_json(),))


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    return ((number, line) for number, line in enumerate(file, start=1) if line.strip())


def _digest(folder: Folder) -> str:
    digest = hashlib.sha256()
    for name in (DOCUMENTS, PAIRS):
        size = 0
        with folder.open(name) as file:
            while piece := file.read(CHUNK):
                digest.update(piece)
                size += len(piece)
        digest.update(f"|{size}|".encode())
    return digest.hexdigest()


def _where_in(connection: sqlite3.Connection, query: str, values: Sequence[object]) -> Iterator[tuple[int, Any]]:
    """Yield the rows of a query whose last column name is one of the values, some values at a time."""
    for start in range(0, len(values), LOOKUP):
        some = values[start : start + LOOKUP]
        yield from connection.execute(f"{query} IN ({','.join('?' * len(some))})", some)


def _packed(record: Record) -> bytes:
    return zlib.compress(record.model_dump_json().encode(), 1)
