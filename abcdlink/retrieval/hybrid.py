"""Lexical and dense scores fused: better than each of them alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.records import Document
from abcdlink.progress import Progress, silent
from abcdlink.retrieval.base import Effort, Retriever
from abcdlink.retrieval.products import Presence, Products
from abcdlink.retrieval.terms import TermCounts, lucene_weights
from abcdlink.retrieval.tokens import normalised_tokens

LEXICAL_WEIGHT = 0.5
"""Weight of each of the two lexical parts; the dense part has 1."""


class Hybrid(Retriever):
    """Fusion 0.5 z(Jaccard) + 0.5 z(BM25) + z(dense), z over all scores of one pair of documents.

    The lexical parts use stems of content words; BM25 takes its idf over all distinct sentences.

    Args:
        dense: the dense part.
    """

    name = "hybrid"

    def __init__(self, dense: Retriever) -> None:
        self._dense = dense
        self.sentences_per_part = dense.sentences_per_part

    @property
    def effort(self) -> Effort:
        """That of the dense part."""
        return self._dense.effort

    def warm(self, texts: Sequence[str], progress: Progress = silent) -> None:
        """Embed sentences, those that were not embedded before."""
        self._dense.warm(texts, progress)

    def prepare(self, documents: Sequence[Document], progress: Progress = silent) -> None:
        """Tokenise and embed all documents; replaces what was prepared before."""
        self._dense.prepare(documents, progress)
        terms = TermCounts(documents, normalised_tokens(), progress)
        self._products = Products(terms, terms.counts, lucene_weights(terms))
        self._presence = Presence(terms)

    def score(self, source: Document, target: Document) -> NDArray[np.float64]:
        """Return fused z-scores."""
        lexical = z_scores(self._presence.jaccard(source, target))
        lexical += z_scores(self._products(source, target))
        fused: NDArray[np.float64] = LEXICAL_WEIGHT * lexical + z_scores(self._dense.score(source, target))
        return fused


def z_scores(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (score - mean) / standard deviation over the whole matrix; zeros when all are alike."""
    deviation = scores.std()
    if deviation <= np.finfo(np.float32).eps:
        return np.zeros_like(scores)
    standard: NDArray[np.float64] = (scores - scores.mean()) / deviation
    return standard
