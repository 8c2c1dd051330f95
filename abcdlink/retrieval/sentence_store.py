"""Data on single sentences (vectors, tokens), computed once and stored on disk."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from abcdlink.errors import InputError
from abcdlink.progress import Progress, silent

CHUNK = 512
"""Sentences processed between two writes to the store: the most that a kill can cost."""

LOOKUP = 500
"""Keys in one query, below SQLite's limit of variables."""

LAYOUT = 2
"""Version of the table, in the file's name: files of other versions are never opened."""


class StoredData(NamedTuple):
    """What is stored about one sentence.

    ``seconds``: its share of the time taken. ``truncated``: whether it was longer than ``max_length`` (tokens;
    ``None``: no limit).
    """

    blob: bytes
    seconds: float = 0.0
    truncated: bool = False
    max_length: int | None = None


class SentenceStore:
    """Blobs under the SHA-256 of a sentence's text, in one SQLite file that processes can share.

    ``identity``: differs if the stored data may differ; ``lock``: held while something is computed. Raises
    ``InputError`` when the file cannot be read as such a store.
    """

    def __init__(self, folder: Path, identity: str, lock: AbstractContextManager[object]) -> None:
        self._path = folder / f"{identity}.v{LAYOUT}.sqlite"
        self._lock = lock
        folder.mkdir(parents=True, exist_ok=True)

    def fill(
        self,
        texts: Sequence[str],
        make: Callable[[list[str]], list[StoredData]],
        label: str,
        progress: Progress = silent,
    ) -> tuple[list[StoredData], float]:
        """Return what is stored about each text, and the original cost in seconds of what was there.

        What was missing is computed by ``make``.
        """
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        found = self.get(keys)
        seconds = sum(kept.seconds for kept in found.values())
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if new:
            # Neighbouring sentences of similar length need little padding; the longest come first,
            # so that a batch that does not fit in memory fails at once.
            order = sorted(new, key=lambda key: (-len(new[key]), key))
            chunks = [order[start : start + CHUNK] for start in range(0, len(order), CHUNK)]
            for chunk in progress(chunks, label, len(chunks)):
                found.update(self._made({key: new[key] for key in chunk}, make))
        return [found[key] for key in keys], seconds

    def _made(self, new: Mapping[bytes, str], make: Callable[[list[str]], list[StoredData]]) -> dict[bytes, StoredData]:
        with self._lock:
            # Another thread or process may have computed some of them in the meantime.
            found = self.get(list(new))
            missing = [key for key in new if key not in found]
            if missing:
                started = time.perf_counter()
                made = make([new[key] for key in missing])
                share = (time.perf_counter() - started) / len(missing)
                rows = {key: kept._replace(seconds=share) for key, kept in zip(missing, made, strict=True)}
                self.put(rows)
                found.update(rows)
            return found

    def get(self, keys: Sequence[bytes]) -> dict[bytes, StoredData]:
        """Return what is there."""
        found: dict[bytes, StoredData] = {}
        with self._open() as connection:
            for start in range(0, len(keys), LOOKUP):
                some = keys[start : start + LOOKUP]
                query = f"SELECT * FROM sentences WHERE key IN ({','.join('?' * len(some))})"  # noqa: S608
                found.update(
                    (key, StoredData(blob, seconds, bool(truncated), max_length))
                    for key, blob, seconds, truncated, max_length in connection.execute(query, some)
                )
        return found

    def put(self, kept: Mapping[bytes, StoredData]) -> None:
        """Add rows, all or none; what is there stays."""
        with self._open() as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO sentences VALUES (?, ?, ?, ?, ?)", ((key, *row) for key, row in kept.items())
            )

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self._path, timeout=60)) as connection, connection:
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS sentences (key BLOB PRIMARY KEY, blob BLOB NOT NULL,"
                    " seconds REAL NOT NULL, truncated INTEGER NOT NULL, max_length INTEGER)"
                )
                yield connection
        except sqlite3.DatabaseError as error:
            msg = f"the store {self._path} cannot be used: {error}"
            raise InputError(msg, "delete the file (it is a cache) and run again") from None
