"""What every retriever is: scores of all target sentences for all source sentences."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.records import Document, Record
from abcdlink.progress import Progress, silent

DECIMALS = 6
"""Scores are compared at this precision, so that rounding errors of the machine break no tie."""


class Effort(Record):
    """What must be known of scores beside the time that they have just taken.

    Attributes:
        cut: sentences, and for cross encoders pairs of sentences, that were longer than the model's
            maximum length and so were cut.
        cut_pairs: how many of these are pairs of sentences.
        max_length: the maximum length in tokens, ``None`` when there is none; of several, the shortest.
        kept_seconds: what the vectors or tokens that were found on disk had cost when they were made.
            The whole cost of scores is the time measured now plus these.
    """

    cut: int = 0
    cut_pairs: int = 0
    max_length: int | None = None
    kept_seconds: float = 0.0

    @classmethod
    def of_fused(cls, efforts: Iterable[Effort]) -> Effort:
        """Return the effort of scores that are made of several retrievers' scores."""
        every = list(efforts)
        return cls(
            cut=sum(effort.cut for effort in every),
            cut_pairs=sum(effort.cut_pairs for effort in every),
            max_length=_shortest(every),
            kept_seconds=sum(effort.kept_seconds for effort in every),
        )

    @classmethod
    def of_parts(cls, efforts: Iterable[Effort]) -> Effort:
        """Return the effort of one ranking whose pairs were ranked in parts.

        Each part prepares all documents, so sentences and seconds are counted once; pairs of
        sentences belong to one part each, so they add up.
        """
        every = list(efforts)
        pairs = sum(effort.cut_pairs for effort in every)
        return cls(
            cut=max((effort.cut - effort.cut_pairs for effort in every), default=0) + pairs,
            cut_pairs=pairs,
            max_length=_shortest(every),
            kept_seconds=max((effort.kept_seconds for effort in every), default=0.0),
        )


def _shortest(efforts: Iterable[Effort]) -> int | None:
    return min((effort.max_length for effort in efforts if effort.max_length is not None), default=None)


class Retriever(ABC):
    """Scores target sentences for source sentences.

    Attributes:
        name: its name in the registry.
        sentences_per_part: how many sentences ``warm`` is given at a time when the work is divided;
            ``None``: preparing is quick, and there is nothing to divide.
        cells_per_part: pairs of sentences that are scored in some 10 seconds.
    """

    name: str
    sentences_per_part: int | None = None
    cells_per_part: int = 5_000_000

    @property
    def effort(self) -> Effort:
        """What the last ``prepare``, and for cross encoders the scores since then, needed."""
        return Effort()

    def warm(self, texts: Sequence[str], progress: Progress = silent) -> None:  # noqa: B027 - nothing is a good default
        """Compute and keep on disk what ``prepare`` needs of these sentences, so that it will be quick.

        A retriever that keeps nothing does nothing.
        """

    def prepare(self, documents: Sequence[Document], progress: Progress = silent) -> None:  # noqa: B027 - as ``warm``
        """Index or embed all documents that will be scored, once; replaces what was prepared before.

        Statistics over the collection (such as inverse document frequencies) come from exactly
        these documents: prepare all of them also when only some pairs are ranked. A retriever without
        such statistics does nothing.
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
