"""BM25 exactly as in the paper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.records import Document
from abcdlink.progress import Progress, silent
from abcdlink.retrieval.base import Retriever
from abcdlink.retrieval.terms import TermCounts, okapi_weights
from abcdlink.retrieval.tokens import paper_tokenizer


class BM25(Retriever):
    """BM25 Okapi on spaCy's token texts, one index per target document.

    The scores are those of ``rank_bm25.BM25Okapi`` with its defaults; a target document without
    any token scores 0.
    """

    name = "bm25"

    def prepare(self, documents: Sequence[Document], progress: Progress = silent) -> None:
        """Tokenise and weigh all documents; replaces what was prepared before."""
        self._terms = TermCounts(documents, paper_tokenizer(), progress)
        self._weights = okapi_weights(self._terms)

    def score(self, source: Document, target: Document) -> NDArray[np.float64]:
        """Return BM25 scores; a term that a source sentence repeats counts each time."""
        return self._terms.product(source, target, self._weights)
