"""Retrievers that compare the terms of sentences: BM25 (exactly as in the paper, and an improved one) and Jaccard.

Tokens are computed once and stored on disk.
"""

from __future__ import annotations

import json
import threading
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from abcdlink.corpus.records import Document
from abcdlink.languages import ENGLISH, Tokenizer, stemmer, tokenizer
from abcdlink.progress import Progress, silent
from abcdlink.retrieval.base import Effort, Retriever
from abcdlink.retrieval.sentence_store import SentenceStore, StoredData
from abcdlink.settings import get_settings

LOCK = threading.Lock()
"""Held while a tokenizer is used: they keep state that threads must not share."""


class StoredTokens:
    """Tokens that are computed once and stored on disk.

    ``name``: of the tokenizer, another one when its results change; ``packages``: whose versions the results depend on.
    """

    def __init__(self, name: str, make_tokenizer: Callable[[], Tokenizer], packages: Sequence[str]) -> None:
        identity = "-".join([name, *(f"{package}-{version(package)}" for package in packages)])
        self._store = SentenceStore(get_settings().cache_root / "tokens", identity, LOCK)
        self._make_tokenizer = make_tokenizer

    def of(self, texts: Sequence[str], progress: Progress = silent) -> tuple[list[list[str]], float]:
        """Return the tokens of each text, and what those found on disk had cost when they were made.

        The tokenizer is loaded only for new texts.
        """
        kept, seconds = self._store.fill(texts, self._make, "tokenise", progress)
        tokens: list[list[str]] = json.loads(b"[" + b",".join(one.blob for one in kept) + b"]")
        return tokens, seconds

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        """Made when it is first needed, and used under the lock."""
        return self._make_tokenizer()

    def _make(self, texts: list[str]) -> list[StoredData]:
        tokenize = self._tokenizer
        return [StoredData(json.dumps(tokenize(text)).encode()) for text in texts]


def paper_tokens(language: str = ENGLISH) -> StoredTokens:
    """Return token texts, for English those of the paper: spaCy's, cased, nothing removed."""
    return StoredTokens(f"paper2-{language}", partial(tokenizer, language), ["spacy"])


def normalised_tokens(language: str = ENGLISH) -> StoredTokens:
    """Return stems of content words."""
    return StoredTokens(f"stems2-{language}", partial(stemmer, language), ["spacy", "snowballstemmer"])


Matrix = Any
"""A ``scipy.sparse.csr_matrix``; scipy has no types."""


class TermCounts:
    """How often each term occurs in each sentence of a set of documents.

    ``counts``: CSR matrix (sentences of all documents one below the other, terms). ``rows``: document id -> its rows;
    ``document_of``: row -> index of its document; ``lengths``: row -> number of tokens; ``first``: row numbers of the
    first occurrence of each distinct sentence. ``kept_seconds``: original cost of the tokens found on disk.
    """

    def __init__(self, documents: Sequence[Document], tokens: StoredTokens, progress: Progress) -> None:
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

    def rarity(self) -> NDArray[np.float64]:
        """Return Lucene's idf of each term: ln(1 + (N - n + 0.5) / (n + 0.5)), in n of N distinct sentences.

        It is never negative.
        """
        n = np.bincount(self.counts[self.first].indices, minlength=self.counts.shape[1])
        return np.log1p((len(self.first) - n + 0.5) / (n + 0.5))

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


def okapi_weights(terms: TermCounts) -> Matrix:
    """Return BM25 Okapi weights with one index per document, as ``rank_bm25.BM25Okapi`` computes them.

    idf(t) = ln(N - n + 0.5) - ln(n + 0.5) over the N sentences of the same document, n of which
    hold t; a negative idf is replaced by ``epsilon`` times the mean idf of the document's terms
    (Trotman et al., "Improvements to BM25 and Language Models Examined", 2014, and the package).
    """
    k1, b, epsilon = 1.5, 0.75, 0.25
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


def lucene_weights(terms: TermCounts) -> Matrix:
    """Return BM25 weights with Lucene's idf over all distinct sentences of all documents."""
    return terms.with_values(terms.saturated(k1=1.2, b=0.75) * terms.rarity()[terms.counts.indices])


BLOCK = 4_000_000
"""Numbers in the largest array of one step (32 MB), also for documents of thousands of sentences."""


class Products:
    """Counts of the terms of source sentences times weights of those of target sentences.

    Data on a target is kept until another one is needed. ``counts``: how often source sentences have terms,
    ``weights``: of terms in target sentences; both at the places of ``terms.counts``.
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
        """Return the data needed on a document.

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


Scorer = Callable[[Document, Document], NDArray[np.float64]]
"""Source and target document -> scores of shape (source sentences, target sentences)."""


class Lexical(Retriever):
    """Scores from the terms of two sentences in a language; ``make_tokens`` gives the tokens of it."""

    make_tokens: Callable[[str], StoredTokens] = staticmethod(normalised_tokens)

    def __init__(self, language: str = ENGLISH) -> None:
        self._tokens = self.make_tokens(language)

    def warm(self, texts: Sequence[str], progress: Progress = silent) -> None:
        """Tokenise those sentences that have not been tokenised before."""
        self._tokens.of(texts, progress)

    def prepare(self, documents: Sequence[Document], progress: Progress = silent) -> None:
        """Tokenise and weigh all documents; replaces what was prepared before."""
        terms = TermCounts(documents, self._tokens, progress)
        self._scorer = self._make_scorer(terms)
        self._effort = Effort(kept_seconds=terms.kept_seconds)

    def score(self, source: Document, target: Document) -> NDArray[np.float64]:
        """Return the scores of a pair of documents."""
        return self._scorer(source, target)

    @abstractmethod
    def _make_scorer(self, terms: TermCounts) -> Scorer:
        """Weigh the terms of the documents that were prepared."""


class BM25(Lexical):
    """BM25 Okapi on spaCy's token texts (bigrams where no blanks are written), one index per target document.

    The scores are those of ``rank_bm25.BM25Okapi`` with its defaults: a term that a source sentence
    repeats counts each time. A target document without any token scores 0.
    """

    name = "bm25"
    make_tokens = staticmethod(paper_tokens)

    def _make_scorer(self, terms: TermCounts) -> Scorer:
        return Products(terms, terms.counts, okapi_weights(terms))


class StemmedBM25(Lexical):
    """BM25 on stems of content words, with Lucene's idf over all distinct sentences of all documents."""

    name = "bm25-stemmed"

    def _make_scorer(self, terms: TermCounts) -> Scorer:
        return Products(terms, terms.counts, lucene_weights(terms))


class Jaccard(Lexical):
    """Common terms / all terms of each two sentences, on normalised tokens; from 0 to 1, 0 when neither has a term."""

    name = "jaccard"

    def _make_scorer(self, terms: TermCounts) -> Scorer:
        ones = terms.with_values(np.ones_like(terms.counts.data))
        common, sizes = Products(terms, ones, ones), np.diff(ones.indptr)

        def score(source: Document, target: Document) -> NDArray[np.float64]:
            both = common(source, target)
            mine, theirs = sizes[terms.rows[source.id]], sizes[terms.rows[target.id]]
            share: NDArray[np.float64] = both / np.maximum(mine[:, None] + theirs[None, :] - both, 1)
            return share

        return score
