"""Sentence embeddings: each distinct sentence is embedded once per model and kept on disk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from abcdlink.layout import safe
from abcdlink.progress import Progress, silent
from abcdlink.retrieval.encoders import MODELS_LOCK, Encoder
from abcdlink.retrieval.kept import Kept, SentenceStore
from abcdlink.settings import get_settings

Vector = NDArray[Any]

NAME = 100
"""Characters of a retriever's name in the name of a folder; a name can be a long path."""


class Embeddings(NamedTuple):
    """The vectors of some sentences.

    Attributes:
        vectors: one for each sentence.
        cut: whether each sentence was longer than the model's maximum length.
        max_length: that length in tokens, ``None`` when there is none.
        kept_seconds: what those found on disk had cost when they were made.
    """

    vectors: list[Vector]
    cut: list[bool]
    max_length: int | None
    kept_seconds: float


class Embedder:
    """Embeds sentences with one model.

    Args:
        name: the retriever's name; its store is in a folder of this name.
        encoder: the model; another one, or another use of it, has another store.
    """

    def __init__(self, name: str, encoder: Encoder) -> None:
        self.name = name
        self._encoder = encoder
        folder = get_settings().cache_root / "embeddings" / safe(name)[-NAME:]
        self._store = SentenceStore(folder, encoder.identity, MODELS_LOCK)

    def embed(self, texts: Sequence[str], progress: Progress = silent) -> Embeddings:
        """Return the vector of each text; the model is loaded only for new texts."""
        kept, seconds = self._store.fill(texts, self._make, f"embed ({self.name})", progress)
        vectors = [np.frombuffer(one.blob, self._encoder.dtype) for one in kept]
        lengths = [one.max_length for one in kept if one.max_length]
        return Embeddings(vectors, [one.cut for one in kept], min(lengths, default=None), seconds)

    def _make(self, texts: list[str]) -> list[Kept]:
        encoded = self._encoder.encode(texts)
        return [
            Kept(vector.tobytes(), cut=text in encoded.cut, max_length=encoded.max_length)
            for text, vector in zip(texts, encoded.vectors, strict=True)
        ]
