"""Documents of a corpus that may be larger than memory: in a dictionary while they are few, then in a file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from tempfile import TemporaryDirectory
from threading import Lock
from typing import cast

from abcdlink.corpus.records import Document

MOST_HELD = 4_000_000
"""Characters of text that an import holds in memory: with their objects some 25 MB. It reads each document once."""

MOST_WORKED_ON = 64_000_000
"""The same for a corpus that is worked on, whose documents are read again and again: some 400 MB."""

PAGE = 50
"""Documents that are read from the file at a time."""


class Shelf(Mapping[str, Document]):
    """Documents by id, in the order in which they were added; reading gives equal documents, not the same objects.

    The file is a temporary one and goes with the object. Threads may read at the same time.
    """

    def __init__(self, most_held: int = MOST_HELD) -> None:
        self._most_held = most_held
        self._held: dict[str, Document] = {}
        self._digests: dict[str, bytes] = {}
        self._characters = 0
        self.sentences = 0
        """Sentences of all documents."""
        self._lock = Lock()
        self._folder: TemporaryDirectory[str] | None = None
        self._file: sqlite3.Connection | None = None

    def digest(self, name: str) -> bytes | None:
        """Return what a document was added with to tell its content; ``None`` when there is no such document."""
        if self._file is None:
            return self._digests.get(name)
        with self._lock:
            row = self._file.execute("SELECT digest FROM documents WHERE id = ?", (_key(name),)).fetchone()
        return None if row is None else bytes(row[0])

    def add(self, document: Document, digest: bytes = b"") -> None:
        """Add a document under its id, which must be new."""
        self.sentences += len(document.sentences)
        if self._file is not None:
            self._insert(self._file, document, digest)
            return
        self._held[document.id], self._digests[document.id] = document, digest
        self._characters += document.size[1]
        if self._characters > self._most_held:
            self._file = self._to_file()

    def documents(self) -> Mapping[str, Document]:
        """Return the documents: a plain dictionary where they are in memory, else this object."""
        return dict(self._held) if self._file is None else self

    def lines(self) -> Iterator[bytes]:
        """Yield each document as one line of JSON, without making objects of what is in the file."""
        if self._file is None:
            yield from (document.model_dump_json().encode() + b"\n" for document in self._held.values())
        else:
            yield from (content + b"\n" for _, content in self._rows())

    def __getitem__(self, name: str) -> Document:
        if self._file is None:
            return self._held[name]
        with self._lock:
            row = self._file.execute("SELECT content FROM documents WHERE id = ?", (_key(name),)).fetchone()
        if row is None:
            raise KeyError(name)
        return Document.model_validate_json(row[0])

    def __contains__(self, name: object) -> bool:
        if self._file is None:
            return name in self._held
        with self._lock:
            found = self._file.execute("SELECT 1 FROM documents WHERE id = ?", (_key(cast("str", name)),)).fetchone()
        return found is not None

    def __iter__(self) -> Iterator[str]:
        if self._file is None:
            yield from self._held
        else:
            yield from (key.decode("utf-8", "surrogatepass") for key, _ in self._rows("''"))

    def __len__(self) -> int:
        if self._file is None:
            return len(self._held)
        with self._lock:
            return int(self._file.execute("SELECT count(*) FROM documents").fetchone()[0])

    def _rows(self, content: str = "content") -> Iterator[tuple[bytes, bytes]]:
        """Yield id and content page by page, so that other threads and readers can go on in between."""
        file = cast("sqlite3.Connection", self._file)
        last = 0
        while True:
            query = f"SELECT number, id, {content} FROM documents WHERE number > ? ORDER BY number LIMIT {PAGE}"  # noqa: S608 - our own column
            with self._lock:
                page = file.execute(query, (last,)).fetchall()
            if not page:
                return
            yield from (row[1:] for row in page)
            last = page[-1][0]

    def _to_file(self) -> sqlite3.Connection:
        self._folder = TemporaryDirectory(prefix="abcdlink-")
        file = sqlite3.connect(f"{self._folder.name}/documents", check_same_thread=False, isolation_level=None)
        # Nothing in it outlives this object: no need to be safe against a power cut.
        file.execute("PRAGMA journal_mode = OFF")
        file.execute("PRAGMA synchronous = OFF")
        file.execute("CREATE TABLE documents (number INTEGER PRIMARY KEY, id BLOB UNIQUE, digest BLOB, content BLOB)")
        for name, document in self._held.items():
            self._insert(file, document, self._digests[name])
        self._held, self._digests = {}, {}
        return file

    def _insert(self, file: sqlite3.Connection, document: Document, digest: bytes) -> None:
        content = document.model_dump_json().encode()
        with self._lock:
            row = (_key(document.id), digest, content)
            file.execute("INSERT INTO documents (id, digest, content) VALUES (?, ?, ?)", row)


def _key(name: str) -> bytes:
    """Return an id as bytes: SQLite's text holds no NUL and no lone surrogate."""
    return name.encode("utf-8", "surrogatepass")
