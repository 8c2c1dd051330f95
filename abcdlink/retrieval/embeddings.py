"""Sentence embeddings: each distinct sentence is embedded once per model and kept on disk."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abcdlink.errors import InputError
from abcdlink.layout import safe
from abcdlink.progress import Progress, silent
from abcdlink.retrieval.encoders import Encoder
from abcdlink.settings import get_settings

Vector = NDArray[Any]

CHUNK = 512
"""Sentences that are embedded between two writes to the store: what a kill can cost."""

NAME = 100
"""Characters of a retriever's name in the name of a folder; a name can be a long path."""

LOOKUP = 500
"""Keys in one query, below SQLite's limit of variables."""


class VectorStore:
    """Vectors under the SHA-256 of their text, in one SQLite file that processes can share.

    Args:
        path: the file; it and its folder are made when missing.
        dtype: what a vector is made of.

    Raises:
        InputError: when the file cannot be read as such a store.
    """

    def __init__(self, path: Path, dtype: np.dtype[Any]) -> None:
        self._path = path
        self._dtype = dtype
        path.parent.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self._path, timeout=60)) as connection, connection:
                connection.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)")
                yield connection
        except sqlite3.DatabaseError as error:
            msg = f"the embedding store {self._path} cannot be used: {error}"
            raise InputError(msg, "delete the file (it is a cache) and run again") from None

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """Return the vectors that are there."""
        found: dict[bytes, Vector] = {}
        with self._open() as connection:
            for start in range(0, len(keys), LOOKUP):
                some = keys[start : start + LOOKUP]
                query = f"SELECT key, vector FROM vectors WHERE key IN ({','.join('?' * len(some))})"  # noqa: S608
                found.update(
                    (key, np.frombuffer(vector, self._dtype)) for key, vector in connection.execute(query, some)
                )
        return found

    def put(self, keys: Sequence[bytes], vectors: Sequence[Vector]) -> None:
        """Add vectors, all or none; what is there stays."""
        rows = ((key, vector.tobytes()) for key, vector in zip(keys, vectors, strict=True))
        with self._open() as connection:
            connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)


class Embedder:
    """Embeds sentences with one model.

    Args:
        name: the retriever's name; its store is in a folder of this name.
        encoder: the model; another one, or another use of it, has another store.
    """

    def __init__(self, name: str, encoder: Encoder) -> None:
        self.name = name
        self._encoder = encoder
        path = get_settings().cache_root / "embeddings" / safe(name)[-NAME:] / f"{encoder.identity}.sqlite"
        self._store = VectorStore(path, encoder.dtype)

    def embed(self, texts: Sequence[str], progress: Progress = silent) -> list[Vector]:
        """Return the vector of each text; the model is loaded only for new texts."""
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        found = self._store.get(keys)
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        # Sentences of one length next to each other need little padding; the longest come first,
        # so that a batch that is too big for the memory fails at once.
        order = sorted(new, key=lambda key: (-len(new[key]), key))
        chunks = [order[start : start + CHUNK] for start in range(0, len(order), CHUNK)]
        for chunk in progress(chunks, f"embed ({self.name})", len(chunks)):
            vectors = self._encoder.encode([new[key] for key in chunk])
            self._store.put(chunk, vectors)
            found.update(zip(chunk, vectors, strict=True))
        return [found[key] for key in keys]
