"""Jaccard similarity of the stems of content words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.records import Document
from abcdlink.progress import Progress, silent
from abcdlink.retrieval.base import Retriever
from abcdlink.retrieval.terms import Presence, TermCounts
from abcdlink.retrieval.tokens import normalising_tokenizer


class Jaccard(Retriever):
    """Common terms / all terms of each two sentences, on normalised tokens."""

    name = "jaccard"

    def prepare(self, documents: Sequence[Document], progress: Progress = silent) -> None:
        """Tokenise all documents; replaces what was prepared before."""
        self._presence = Presence(TermCounts(documents, normalising_tokenizer(), progress))

    def score(self, source: Document, target: Document) -> NDArray[np.float64]:
        """Return shares from 0 to 1."""
        return self._presence.jaccard(source, target)
