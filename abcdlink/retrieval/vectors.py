"""Retrieval by vectors, dense or sparse: each sentence is embedded once per model, and a score is a product."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from abcdlink.corpus.records import Document
from abcdlink.layout import safe
from abcdlink.progress import Progress, silent
from abcdlink.retrieval.base import Effort, Retriever
from abcdlink.retrieval.encoders import MODELS_LOCK, Encoder
from abcdlink.retrieval.sentence_store import Kept, SentenceStore
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


class Dense(Embedded):
    """Products of dense vectors: cosines when the vectors are one long."""

    def _matrices(self, sources: Sequence[Vector], targets: Sequence[Vector]) -> tuple[Vector, Vector]:
        first = np.stack(sources)
        return first, first if targets is sources else np.stack(targets)

    def _dense(self, sources: Vector, targets: Vector) -> NDArray[np.float64]:
        product: NDArray[np.float64] = sources.astype(np.float64) @ targets.astype(np.float64).T
        return product


class Sparse(Embedded):
    """Products of sparse vectors."""

    def _matrices(self, sources: Sequence[Vector], targets: Sequence[Vector]) -> tuple[Any, Any]:
        width = 1 + max((int(vector["term"].max()) for vector in (*sources, *targets) if len(vector)), default=0)
        first = _matrix(sources, width)
        return first, first if targets is sources else _matrix(targets, width)

    def _dense(self, sources: Any, targets: Any) -> NDArray[np.float64]:  # noqa: ANN401 - scipy has no types
        dense: NDArray[np.float64] = (sources @ targets.T).toarray()
        return dense


def _matrix(vectors: Sequence[Vector], width: int) -> Any:  # noqa: ANN401 - scipy has no types
    ends = np.cumsum([0, *map(len, vectors)])
    components = np.concatenate(vectors)
    weights = components["weight"].astype(np.float64)
    return sparse.csr_matrix((weights, components["term"], ends), shape=(len(vectors), width))
