"""Scores of pairs of sentences from their terms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.records import Document
from abcdlink.retrieval.terms import Matrix, TermCounts

BLOCK = 4_000_000
"""Numbers in the largest array of one step (32 MB), also for documents of thousands of sentences."""


class Products:
    """Counts of the terms of source sentences times weights of those of target sentences.

    What is made of a target is kept until another one is asked for.

    Args:
        terms: the counts.
        counts: how often source sentences have terms: ``terms.counts`` or other values at the same places.
        weights: of terms in target sentences, at the same places.
    """

    def __init__(self, terms: TermCounts, counts: Matrix, weights: Matrix) -> None:
        self._rows = terms.rows
        self._counts = counts
        self._weights = weights
        self._target: tuple[str, NDArray[np.int32], NDArray[np.float64], NDArray[np.intp]] | None = None

    def __call__(self, source: Document, target: Document) -> NDArray[np.float64]:
        """Return an array (source sentences, target sentences)."""
        terms, weights, first = self._of_target(target.id)
        indptr, indices, values = _rows(self._counts, self._rows[source.id])
        # Scipy's sparse product of two such small matrices takes ten times as long as this dense one
        # over the target's own terms; all other terms are one more, which weighs nothing.
        place = np.searchsorted(terms[:-1], indices)
        place[terms[place] != indices] = len(terms) - 1
        scores = np.empty((len(indptr) - 1, weights.shape[1]))
        step = max(1, BLOCK // len(terms))
        for start in range(0, len(scores), step):
            ends = indptr[start : start + step + 1]
            entries = slice(ends[0], ends[-1])
            counts = np.zeros((len(ends) - 1, len(terms)))
            counts[np.repeat(np.arange(len(counts)), np.diff(ends)), place[entries]] = values[entries]
            scores[start : start + step] = counts @ weights
        # A matrix product rounds columns at its edge otherwise: equal sentences must tie to the last bit.
        return scores[:, first]

    def _of_target(self, name: str) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.intp]]:
        """Return what is needed of a document.

        That is its terms in ascending order and their weights, (terms, sentences), each with one more; and for each
        sentence the first one with the same weights.
        """
        kept = self._target
        if kept is None or kept[0] != name:
            indptr, indices, values = _rows(self._weights, self._rows[name])
            terms, place = np.unique(indices, return_inverse=True)
            weights = np.zeros((len(terms) + 1, len(indptr) - 1))
            weights[place, np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))] = values
            seen: dict[bytes, int] = {}
            first = np.array([seen.setdefault(column.tobytes(), n) for n, column in enumerate(weights.T)], np.intp)
            self._target = kept = name, np.append(terms, -1), weights, first
        return kept[1:]


def _rows(matrix: Matrix, rows: slice) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Return the index pointer, column indices and values of some rows; scipy's own slicing is slower."""
    indptr = matrix.indptr[rows.start : rows.stop + 1]
    entries = slice(indptr[0], indptr[-1])
    return indptr - indptr[0], matrix.indices[entries], matrix.data[entries]


class Presence:
    """Which terms each sentence has, however often.

    Args:
        terms: the counts.
    """

    def __init__(self, terms: TermCounts) -> None:
        ones = terms.with_values(np.ones_like(terms.counts.data))
        self._rows = terms.rows
        self._common = Products(terms, ones, ones)
        self._sizes = np.diff(ones.indptr)

    def jaccard(self, source: Document, target: Document) -> NDArray[np.float64]:
        """Return common terms / all terms of each two sentences; 0 when neither has a term."""
        common = self._common(source, target)
        sizes, other = self._sizes[self._rows[source.id]], self._sizes[self._rows[target.id]]
        share: NDArray[np.float64] = common / np.maximum(sizes[:, None] + other[None, :] - common, 1)
        return share
