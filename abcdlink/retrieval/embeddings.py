"""Sentence embeddings: each distinct sentence is embedded once per model and kept on disk."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abcdlink.errors import InputError
from abcdlink.progress import Progress, silent
from abcdlink.settings import get_settings

Vectors = NDArray[np.float32]

CHUNK = 512
"""Sentences that are embedded between two writes to the store: what a kill can cost."""

BATCH = 32
LOOKUP = 500
"""Keys in one query, below SQLite's limit of variables."""


class VectorStore:
    """Vectors under the SHA-256 of their text, in one SQLite file that processes can share.

    Args:
        path: the file; it and its folder are made when missing.

    Raises:
        InputError: when the file cannot be read as such a store.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
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

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Vectors]:
        """Return the vectors that are there."""
        found: dict[bytes, Vectors] = {}
        with self._open() as connection:
            for start in range(0, len(keys), LOOKUP):
                some = keys[start : start + LOOKUP]
                query = f"SELECT key, vector FROM vectors WHERE key IN ({','.join('?' * len(some))})"  # noqa: S608
                found.update(
                    (key, np.frombuffer(vector, np.float32)) for key, vector in connection.execute(query, some)
                )
        return found

    def put(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Add vectors, all or none; what is there stays."""
        rows = ((key, vector.tobytes()) for key, vector in zip(keys, vectors, strict=True))
        with self._open() as connection:
            connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)


class Embedder:
    """Embeds sentences with one model of sentence-transformers.

    Args:
        name: the model's name here; its store has it too.
        folder: where the model lies.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self._folder = folder
        self._store = VectorStore(get_settings().cache_root / "embeddings" / name / "vectors.sqlite")

    def embed(self, texts: Sequence[str], progress: Progress = silent) -> Vectors:
        """Return unit vectors of shape (texts, dimensions); the model is loaded only for new texts."""
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        found = self._store.get(keys)
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        # Sentences of one length next to each other need little padding; the longest come first,
        # so that a batch that is too big for the memory fails at once.
        order = sorted(new, key=lambda key: (-len(new[key]), key))
        chunks = [order[start : start + CHUNK] for start in range(0, len(order), CHUNK)]
        for chunk in progress(chunks, f"embed ({self.name})", len(chunks)):
            vectors = self._encode([new[key] for key in chunk])
            self._store.put(chunk, vectors)
            found.update(zip(chunk, vectors, strict=True))
        return np.stack([found[key] for key in keys])

    def _encode(self, texts: list[str]) -> Vectors:
        settings = get_settings()
        model = _load(str(self._folder), settings.device, settings.threads)
        vectors: Vectors = model.encode(
            texts, batch_size=BATCH, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
        )
        return vectors.astype(np.float32, copy=False)


@lru_cache(maxsize=2)
def _load(folder: str, device: str, threads: int) -> Any:  # noqa: ANN401 - sentence-transformers has no types
    """Load a model once per process, from the disk only."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # type: ignore[no-untyped-call]
    torch.set_num_threads(threads)
    try:
        return SentenceTransformer(folder, device=None if device == "auto" else device, local_files_only=True)
    except (AssertionError, RuntimeError) as error:  # what torch raises for a device that is not there
        msg = f"the model {folder} cannot be loaded on the device {device!r}: {str(error).splitlines()[0]}"
        raise InputError(msg, "set ABCDLINK_DEVICE to auto or cpu") from None
