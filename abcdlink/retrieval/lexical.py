"""What retrievers that compare the terms of sentences share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.records import Document
from abcdlink.progress import Progress, silent
from abcdlink.retrieval.base import Effort, Retriever
from abcdlink.retrieval.terms import TermCounts
from abcdlink.retrieval.tokens import KeptTokens

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
