"""Rankings tables as matrices of scores, sentences in document order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.records import Corpus, Document, Pair
from abcdlink.errors import InputError
from abcdlink.progress import Progress, silent
from abcdlink.retrieval.base import Retriever

if TYPE_CHECKING:
    import pandas as pd

Matrix = NDArray[np.float64]
Scores = dict[tuple[str, str], Matrix]
"""(Source document, target document) -> scores of shape (source sentences, target sentences)."""


class ScoredDocuments(Retriever):
    """Scores that were computed before, to be ranked."""

    def __init__(self, name: str, scores: Scores) -> None:
        self.name = name
        self._scores = scores

    def prepare(self, documents: Sequence[Document], progress: Progress = silent) -> None:
        """Do nothing."""

    def score(self, source: Document, target: Document) -> Matrix:
        """Return the scores of a pair of documents."""
        return self._scores[source.id, target.id]


class BaseScores:
    """The scores that several retrievers gave to the pairs of a corpus.

    Args:
        retrievers: their names, in the order in which matrices are returned.
        rankings: retriever -> its rankings of the corpus.
        corpus: whose sentence order the matrices have.

    Raises:
        InputError: when the rankings of a retriever are missing.
    """

    def __init__(self, retrievers: Sequence[str], rankings: Mapping[str, pd.DataFrame], corpus: Corpus) -> None:
        missing = [name for name in retrievers if name not in rankings]
        if missing:
            msg = f"a learned linker lacks the rankings of {corpus.name!r} by {' and '.join(missing)}"
            raise InputError(msg, f"rank the corpus with {', '.join(retrievers)} first")
        self._corpus = corpus
        self._tables = {name: _Table(rankings[name]) for name in retrievers}

    def of(self, pair: Pair) -> list[Matrix]:
        """Return one matrix (source sentences, target sentences) for each retriever.

        Raises:
            InputError: when the rankings do not hold every two sentences of the pair once.
        """
        source, target = self._corpus.source_of(pair), self._corpus.target_of(pair)
        matrices = []
        for name, table in self._tables.items():
            matrix = table.matrix(pair.id, source, target)
            if matrix is None:
                msg = f"the rankings by {name} do not hold every two sentences of the pair {pair.id!r} once"
                raise InputError(msg, f"rank the corpus {self._corpus.name!r} with {name} again")
            matrices.append(matrix)
        return matrices


class _Table:
    """One rankings table, its rows found by pair."""

    def __init__(self, rankings: pd.DataFrame) -> None:
        import pandas as pd

        pair, self._source, self._target = (pd.Categorical(rankings[name]) for name in ("pair", "source", "target"))
        self._score = rankings["score"].to_numpy(np.float64)
        self._order = np.argsort(pair.codes, kind="stable")
        self._pairs = {str(name): code for code, name in enumerate(pair.categories)}
        self._ends = np.searchsorted(pair.codes[self._order], np.arange(len(self._pairs) + 1))
        self._known: dict[tuple[str, str], tuple[NDArray[Any], NDArray[np.intp]]] = {}

    def matrix(self, pair: str, source: Document, target: Document) -> Matrix | None:
        """Return the scores of a pair, ``None`` when they are not all there."""
        code = self._pairs.get(pair)
        if code is None:
            return None
        rows = self._order[self._ends[code] : self._ends[code + 1]]
        shape = len(source.sentences), len(target.sentences)
        if len(rows) != shape[0] * shape[1]:
            return None
        row = self._places("source", source, self._source, rows)
        column = self._places("target", target, self._target, rows)
        place = row * shape[1] + column
        if min(row.min(), column.min()) < 0 or len(np.unique(place)) != len(place):
            return None
        matrix = np.empty(len(place))
        matrix[place] = self._score[rows]
        return matrix.reshape(shape)

    def _places(self, side: str, document: Document, ids: pd.Categorical, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the position in the document of the sentence in each row, -1 for one that it lacks."""
        import pandas as pd

        key = (side, document.id)
        if key not in self._known:
            codes = ids.categories.get_indexer(pd.Index([s.id for s in document.sentences], dtype=str)).astype(np.int64)
            sorter = np.argsort(codes)
            self._known[key] = codes[sorter], sorter
        ordered, sorter = self._known[key]
        wanted = ids.codes[rows]
        found = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
        places: NDArray[np.intp] = np.where(ordered[found] == wanted, sorter[found], -1)
        return places
