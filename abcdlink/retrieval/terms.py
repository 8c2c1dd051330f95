"""Term counts of many documents in one sparse matrix, and BM25 weights over them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from abcdlink.corpus.records import Document
from abcdlink.progress import Progress
from abcdlink.retrieval.tokens import KeptTokens

Matrix = Any
"""A ``scipy.sparse.csr_matrix``; scipy has no types."""


class TermCounts:
    """How often each term occurs in each sentence of a set of documents.

    Args:
        documents: the documents.
        tokens: gives the tokens of sentences.
        progress: told of sentences that are tokenised.

    Attributes:
        counts: CSR matrix (sentences of all documents one below the other, terms).
        rows: document id -> its rows.
        document_of: row -> index of its document.
        lengths: row -> number of tokens.
        first: row numbers of the first occurrence of each distinct sentence.
        kept_seconds: what the tokens that were found on disk had cost.
    """

    def __init__(self, documents: Sequence[Document], tokens: KeptTokens, progress: Progress) -> None:
        distinct: dict[str, int] = {}
        sentence = np.array(
            [distinct.setdefault(text, len(distinct)) for document in documents for text in document.texts], int
        )
        lists, self.kept_seconds = tokens.of(list(distinct), progress)
        counts = _count(lists)
        self.counts: Matrix = counts[sentence]
        self.lengths = np.fromiter(map(len, lists), np.int64, len(lists))[sentence]
        self.first = np.unique(sentence, return_index=True)[1]
        sizes = [len(document.sentences) for document in documents]
        self.document_of = np.repeat(np.arange(len(sizes)), sizes)
        ends = np.cumsum(sizes).tolist()
        self.rows = {d.id: slice(end - size, end) for d, size, end in zip(documents, sizes, ends, strict=True)}

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


def _count(lists: list[list[str]]) -> Matrix:
    """Return a CSR matrix (lists, terms) of how often each term is in each list."""
    vocabulary: defaultdict[str, int] = defaultdict()
    vocabulary.default_factory = vocabulary.__len__
    indices = np.array([vocabulary[token] for tokens in lists for token in tokens], np.int32)
    indptr = np.cumsum([0, *map(len, lists)])
    counts = sparse.csr_matrix((np.ones(len(indices)), indices, indptr), shape=(len(lists), len(vocabulary)))
    counts.sum_duplicates()
    return counts


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
