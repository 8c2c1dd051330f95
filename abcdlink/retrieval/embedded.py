"""What dense and sparse retrieval share: a score is a product of two vectors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.records import Document
from abcdlink.progress import Progress, silent
from abcdlink.retrieval.base import Effort, Retriever
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
        self._embedders = [embedder, targets] if targets else [embedder]
        self._effort = Effort()

    @property
    def effort(self) -> Effort:
        """What the last ``prepare`` needed; a sentence that two encoders cut counts once."""
        return self._effort

    def prepare(self, documents: Sequence[Document], progress: Progress = silent) -> None:
        """Embed each distinct sentence once (twice with two encoders); replaces what was prepared before."""
        position: dict[str, int] = {}
        self._rows = {
            document.id: np.array([position.setdefault(text, len(position)) for text in document.texts])
            for document in documents
        }
        sides = [embedder.embed(list(position), progress) for embedder in self._embedders]
        self._sources, self._targets = self._matrices(sides[0].vectors, sides[-1].vectors)
        lengths = [side.max_length for side in sides if side.max_length]
        self._effort = Effort(
            cut=sum(map(any, zip(*(side.cut for side in sides), strict=True))),
            max_length=min(lengths, default=None),
            kept_seconds=sum(side.kept_seconds for side in sides),
        )

    def warm(self, texts: Sequence[str], progress: Progress = silent) -> None:
        """Embed sentences, those that were not embedded before."""
        distinct = list(dict.fromkeys(texts))
        for embedder in self._embedders:
            embedder.embed(distinct, progress)

    def score(self, source: Document, target: Document) -> NDArray[np.float64]:
        """Return products of vectors."""
        # Each distinct sentence once: a matrix product may round equal rows differently.
        (rows, row_of), (columns, column_of) = (
            np.unique(self._rows[document.id], return_inverse=True) for document in (source, target)
        )
        product = self._dense(self._sources[rows], self._targets[columns])
        every: NDArray[np.float64] = product[np.ix_(row_of, column_of)]
        return every

    @abstractmethod
    def _matrices(self, sources: Sequence[Vector], targets: Sequence[Vector]) -> tuple[Any, Any]:
        """Return both sides' vectors as matrices with the same columns."""

    @abstractmethod
    def _dense(self, sources: Any, targets: Any) -> NDArray[np.float64]:  # noqa: ANN401 - dense or sparse
        """Return the product of rows of such matrices as an array."""
