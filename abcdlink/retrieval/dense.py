"""Dense retrieval: cosine of sentence embeddings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.records import Document
from abcdlink.progress import Progress, silent
from abcdlink.retrieval.base import Retriever
from abcdlink.retrieval.embeddings import Embedder


class Dense(Retriever):
    """Cosine similarity of the embeddings of one model.

    Args:
        embedder: gives the embeddings; the retriever has its name.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.name = embedder.name
        self._embedder = embedder

    def prepare(self, documents: Sequence[Document], progress: Progress = silent) -> None:
        """Embed each distinct sentence once; replaces what was prepared before."""
        position: dict[str, int] = {}
        self._rows = {
            document.id: np.array([position.setdefault(text, len(position)) for text in document.texts])
            for document in documents
        }
        self._vectors = self._embedder.embed(list(position), progress)

    def score(self, source: Document, target: Document) -> NDArray[np.float64]:
        """Return cosines."""
        product = self._vectors[self._rows[source.id]] @ self._vectors[self._rows[target.id]].T
        return np.asarray(product, np.float64)
