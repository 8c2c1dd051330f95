"""Term counts of many documents in one sparse matrix, and BM25 weights over them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from abcdlink.corpus.records import Document
from abcdlink.progress import Progress
from abcdlink.retrieval.tokens import Tokenizer

Matrix = Any
"""A ``scipy.sparse.csr_matrix``; scipy has no types."""


class TermCounts:
    """How often each term occurs in each sentence of a set of documents.

    Each distinct sentence is tokenised once.

    Attributes:
        counts: CSR matrix (sentences of all documents one below the other, terms).
        rows: document id -> its rows.
        document_of: row -> index of its document.
        lengths: row -> number of tokens.
        first: row numbers of the first occurrence of each distinct sentence.
    """

    def __init__(self, documents: Sequence[Document], tokenize: Tokenizer, progress: Progress) -> None:
        vocabulary: dict[str, int] = {}
        known: dict[str, array[int]] = {}
        indices, ends, first = array("i"), array("q", [0]), array("q")
        self.rows: dict[str, slice] = {}
        for document in progress(documents, "tokenise", len(documents)):
            start = len(ends) - 1
            for text in document.texts:
                if text not in known:
                    known[text] = array("i", (vocabulary.setdefault(t, len(vocabulary)) for t in tokenize(text)))
                    first.append(len(ends) - 1)
                indices.extend(known[text])
                ends.append(len(indices))
            self.rows[document.id] = slice(start, len(ends) - 1)
        indptr = np.asarray(ends)
        shape = (len(indptr) - 1, len(vocabulary))
        self.counts: Matrix = sparse.csr_matrix((np.ones(len(indices)), np.asarray(indices), indptr), shape=shape)
        self.counts.sum_duplicates()
        self.lengths = np.diff(indptr)
        self.first = np.asarray(first)
        sizes = [rows.stop - rows.start for rows in self.rows.values()]
        self.document_of = np.repeat(np.arange(len(sizes)), sizes)

    def product(self, source: Document, target: Document, weights: Matrix) -> NDArray[np.float64]:
        """Return the counts of the source times the target's weights: (source, target sentences)."""
        dense: NDArray[np.float64] = (self.counts[self.rows[source.id]] @ weights[self.rows[target.id]].T).toarray()
        return dense

    def saturated(self, k1: float, b: float) -> NDArray[np.float64]:
        """Return BM25's weight of each stored count before idf: tf (k1 + 1) / (tf + k1 (1 - b + b len / mean len)).

        The mean length is that of the sentences of the same document.
        """
        row = np.repeat(np.arange(self.counts.shape[0]), np.diff(self.counts.indptr))
        means = np.bincount(self.document_of, self.lengths) / np.bincount(self.document_of)
        tf = self.counts.data
        relative = self.lengths[row] / means[self.document_of[row]]
        weights: NDArray[np.float64] = tf * (k1 + 1) / (tf + k1 * (1 - b + b * relative))
        return weights

    def with_values(self, values: Iterable[float]) -> Matrix:
        """Return a matrix with the same non-zero places as ``counts`` and other values."""
        counts = self.counts
        return sparse.csr_matrix((values, counts.indices, counts.indptr), shape=counts.shape)


class Presence:
    """Which terms each sentence has, however often.

    Args:
        terms: the counts.
    """

    def __init__(self, terms: TermCounts) -> None:
        self._rows = terms.rows
        self._matrix = terms.with_values(np.ones_like(terms.counts.data))

    def jaccard(self, source: Document, target: Document) -> NDArray[np.float64]:
        """Return common terms / all terms of each two sentences; 0 when neither has a term."""
        mine, other = (self._matrix[self._rows[document.id]] for document in (source, target))
        common: NDArray[np.float64] = (mine @ other.T).toarray()
        union = np.diff(mine.indptr)[:, None] + np.diff(other.indptr)[None, :] - common
        share: NDArray[np.float64] = common / np.maximum(union, 1)
        return share


def okapi_weights(terms: TermCounts, k1: float = 1.5, b: float = 0.75, epsilon: float = 0.25) -> Matrix:
    """Return BM25 Okapi weights with one index per document, as ``rank_bm25.BM25Okapi`` computes them.

    idf(t) = ln(N - n + 0.5) - ln(n + 0.5) over the N sentences of the same document, n of which
    hold t; a negative idf is replaced by ``epsilon`` times the mean idf of the document's terms
    (Trotman et al., "Improvements to BM25 and Language Models Examined", 2014, and the package).
    """
    counts = terms.counts
    sizes = np.bincount(terms.document_of)
    document = np.repeat(terms.document_of, np.diff(counts.indptr))
    entries, place, n = np.unique(document * counts.shape[1] + counts.indices, return_inverse=True, return_counts=True)
    owner = entries // max(counts.shape[1], 1)
    idf = np.log(sizes[owner] - n + 0.5) - np.log(n + 0.5)
    distinct = np.bincount(owner, minlength=len(sizes))
    mean = np.bincount(owner, idf, minlength=len(sizes)) / np.maximum(distinct, 1)
    idf = np.where(idf < 0, epsilon * mean[owner], idf)
    return terms.with_values(terms.saturated(k1, b) * idf[place])


def lucene_weights(terms: TermCounts, k1: float = 1.2, b: float = 0.75) -> Matrix:
    """Return BM25 weights with Lucene's idf over all distinct sentences of all documents.

    idf(t) = ln(1 + (N - n + 0.5) / (n + 0.5)), never negative.
    """
    counts = terms.counts
    n = np.bincount(counts[terms.first].indices, minlength=counts.shape[1])
    idf = np.log1p((len(terms.first) - n + 0.5) / (n + 0.5))
    return terms.with_values(terms.saturated(k1, b) * idf[counts.indices])
