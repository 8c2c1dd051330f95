"""Retrievers with models: a score is a product of two vectors, or a model's score of both sentences together."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from abcdlink.corpus.records import Document
from abcdlink.errors import InputError
from abcdlink.layout import safe
from abcdlink.progress import Progress, silent
from abcdlink.retrieval.base import Effort, Retriever
from abcdlink.retrieval.encoders import BATCH, MODELS_LOCK, Encoder, Use, load, require
from abcdlink.retrieval.models import max_length, watched
from abcdlink.retrieval.sentence_store import SentenceStore, StoredData
from abcdlink.settings import get_settings

Vector = NDArray[Any]

NAME = 100
"""Characters of a retriever's name in the name of a folder; a name can be a long path."""


class Embeddings(NamedTuple):
    """A vector for each sentence, and whether it was truncated at the maximum length in tokens (``None``: none).

    ``kept_seconds``: original cost of the vectors found on disk.
    """

    vectors: list[Vector]
    truncated: list[bool]
    max_length: int | None
    kept_seconds: float


class Embedder:
    """Embeds sentences with one model.

    Another model, or another use of it, has another store in the folder of the retriever.
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
        return Embeddings(vectors, [one.truncated for one in kept], min(lengths, default=None), seconds)

    def _make(self, texts: list[str]) -> list[StoredData]:
        encoded = self._encoder.encode(texts)
        return [
            StoredData(vector.tobytes(), truncated=text in encoded.truncated, max_length=encoded.max_length)
            for text, vector in zip(texts, encoded.vectors, strict=True)
        ]


class Embedded(Retriever):
    """Product of the vectors of two sentences.

    The retriever has the name of the first embedder; ``targets``: gives the vectors of target sentences, ``None``: the
    same.
    """

    sentences_per_part = 1000

    def __init__(self, embedder: Embedder, targets: Embedder | None = None) -> None:
        self.name = embedder.name
        self._embedders = [embedder, targets] if targets else [embedder]

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
            truncated=sum(map(any, zip(*(side.truncated for side in sides), strict=True))),
            max_length=min(lengths, default=None),
            kept_seconds=sum(side.kept_seconds for side in sides),
        )

    def warm(self, texts: Sequence[str], progress: Progress = silent) -> None:
        """Embed those sentences that have not been embedded before."""
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
        return sources.astype(np.float64) @ targets.astype(np.float64).T


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


class CrossEncoder(Retriever):
    """Scores of ``sentence_transformers.CrossEncoder``, as logits.

    Logits give the same order as the probabilities that some models make of them, but these are so close to 0 or 1 that
    many are alike when rounded. The maximum length is that of the two sentences together.
    """

    cells_per_part = 10_000

    def __init__(self, name: str, use: Use) -> None:
        self.name = name
        self._use = use

    def prepare(self, documents: Sequence[Document], progress: Progress = silent) -> None:
        """Load the model; replaces what was prepared before."""
        self._model = load(_cross, self._use)
        self._effort = Effort(max_length=max_length(self._model))
        self._texts = {document.id: document.texts for document in progress(documents, f"prepare ({self.name})")}

    def score(self, source: Document, target: Document) -> NDArray[np.float64]:
        """Return logits; two sentences that occur several times are read once."""
        from torch.nn import Identity

        sources, targets = self._texts[source.id], self._texts[target.id]
        position: dict[tuple[str, str], int] = {}
        places = np.array([[position.setdefault((one, other), len(position)) for other in targets] for one in sources])
        with MODELS_LOCK, watched(self._model) as truncated:
            logits = self._model.predict(
                list(position), batch_size=BATCH, activation_fn=Identity(), show_progress_bar=False
            )
            pairs = self._effort.truncated_pairs + int(np.array([pair in truncated for pair in position])[places].sum())
            self._effort = self._effort.model_copy(update={"truncated": pairs, "truncated_pairs": pairs})
        scores: NDArray[np.float64] = np.asarray(logits, np.float64)[places]
        return scores


def _cross(use: Use, device: str | None) -> Any:  # noqa: ANN401 - sentence-transformers has no types
    import sentence_transformers

    require(use.folder, "CrossEncoder", "ForSequenceClassification")
    model = sentence_transformers.CrossEncoder(
        str(use.folder), device=device, local_files_only=True, max_length=use.max_length
    )
    if model.num_labels != 1:
        msg = f"the model {use.folder} gives {model.num_labels} scores for two sentences, not one"
        raise InputError(msg, "choose a cross encoder with one score, such as one for reranking")
    return model
