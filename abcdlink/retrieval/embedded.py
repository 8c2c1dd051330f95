"""What dense and sparse retrieval share: a score is a product of two vectors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.records import Document
from abcdlink.progress import Progress, silent
from abcdlink.retrieval.base import Retriever
from abcdlink.retrieval.embeddings import Embedder, Vector


class Embedded(Retriever):
    """Product of the vectors of two sentences.

    Args:
        embedder: gives the vectors of source sentences; the retriever has its name.
        targets: gives those of target sentences; ``None``: the same.
    """

    sentences_per_part = 1000

    def __init__(self, embedder: Embedder, targets: Embedder | None = None) -> None:
        self.name = embedder.name
        self._embedder = embedder
        self._target_embedder = targets

    def prepare(self, documents: Sequence[Document], progress: Progress = silent) -> None:
        """Embed each distinct sentence once (twice with two encoders); replaces what was prepared before."""
        position: dict[str, int] = {}
        self._rows = {
            document.id: np.array([position.setdefault(text, len(position)) for text in document.texts])
            for document in documents
        }
        sources = self._embedder.embed(list(position), progress)
        targets = self._target_embedder.embed(list(position), progress) if self._target_embedder else sources
        self._sources, self._targets = self._matrices(sources, targets)

    def warm(self, texts: Sequence[str], progress: Progress = silent) -> None:
        """Embed sentences, those that were not embedded before."""
        distinct = list(dict.fromkeys(texts))
        for embedder in filter(None, (self._embedder, self._target_embedder)):
            embedder.embed(distinct, progress)

    def score(self, source: Document, target: Document) -> NDArray[np.float64]:
        """Return products of vectors."""
        product = self._sources[self._rows[source.id]] @ self._targets[self._rows[target.id]].T
        return self._dense(product)

    @abstractmethod
    def _matrices(self, sources: Sequence[Vector], targets: Sequence[Vector]) -> tuple[Any, Any]:
        """Return both sides' vectors as matrices with the same columns."""

    @abstractmethod
    def _dense(self, product: Any) -> NDArray[np.float64]:  # noqa: ANN401 - dense or sparse
        """Return a product of such matrices as an array."""
