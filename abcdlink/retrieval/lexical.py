"""Retrievers that compare the terms of sentences: BM25, exactly as in the paper and better, and Jaccard."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.records import Document
from abcdlink.languages import ENGLISH
from abcdlink.progress import Progress, silent
from abcdlink.retrieval.base import Effort, Retriever
from abcdlink.retrieval.terms import (
    KeptTokens,
    Presence,
    Products,
    TermCounts,
    lucene_weights,
    normalised_tokens,
    okapi_weights,
    paper_tokens,
)

Scorer = Callable[[Document, Document], NDArray[np.float64]]
"""Source and target document -> scores of shape (source sentences, target sentences)."""


class Lexical(Retriever):
    """Scores from the terms of two sentences.

    Args:
        tokens: gives the terms.
    """

    def __init__(self, tokens: KeptTokens) -> None:
        self._tokens = tokens
        self._effort = Effort()

    @property
    def effort(self) -> Effort:
        """What the last ``prepare`` needed."""
        return self._effort

    def warm(self, texts: Sequence[str], progress: Progress = silent) -> None:
        """Tokenise sentences, those that were not tokenised before."""
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

    def __init__(self, language: str = ENGLISH) -> None:
        super().__init__(paper_tokens(language))

    def _make_scorer(self, terms: TermCounts) -> Scorer:
        return Products(terms, terms.counts, okapi_weights(terms))


class StemmedBM25(Lexical):
    """BM25 on stems of content words, with Lucene's idf over all distinct sentences of all documents."""

    name = "bm25-stemmed"

    def __init__(self, language: str = ENGLISH) -> None:
        super().__init__(normalised_tokens(language))

    def _make_scorer(self, terms: TermCounts) -> Scorer:
        return Products(terms, terms.counts, lucene_weights(terms))


class Jaccard(Lexical):
    """Common terms / all terms of each two sentences, on normalised tokens; from 0 to 1."""

    name = "jaccard"

    def __init__(self, language: str = ENGLISH) -> None:
        super().__init__(normalised_tokens(language))

    def _make_scorer(self, terms: TermCounts) -> Scorer:
        return Presence(terms).jaccard
