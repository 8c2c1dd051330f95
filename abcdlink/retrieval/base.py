"""What every retriever is: scores of all target sentences for all source sentences."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.records import Document
from abcdlink.progress import Progress, silent

DECIMALS = 6
"""Scores are compared at this precision, so that rounding errors of the machine break no tie."""


class Retriever(ABC):
    """Scores target sentences for source sentences."""

    name: str

    @abstractmethod
    def prepare(self, documents: Sequence[Document], progress: Progress = silent) -> None:
        """Index or embed all documents that will be scored, once; replaces what was prepared before.

        Statistics over the collection (such as inverse document frequencies) come from exactly
        these documents: prepare all of them also when only some pairs are ranked.
        """

    @abstractmethod
    def score(self, source: Document, target: Document) -> NDArray[np.float64]:
        """Return scores of shape (source sentences, target sentences), higher is better.

        Raises:
            KeyError: when one of the documents was not prepared.
        """


def ranked(scores: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return target positions best first, along the last axis.

    Scores are rounded to 6 decimals and sorted stably, so that ties keep document order.
    """
    return np.argsort(-np.round(scores, DECIMALS), axis=-1, kind="stable")
