"""The interface of retrievers, which score all target sentences for all source sentences; and rankings by score."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from abcdlink.corpus.records import Corpus, Document, Pair, Record, with_new_names
from abcdlink.progress import Progress, silent

if TYPE_CHECKING:
    import pandas as pd

DECIMALS = 6
"""Decimals at which scores are compared, so that rounding errors do not break ties."""


class Effort(Record):
    """What to know about scores besides the time just measured.

    Attributes:
        truncated: sentences, and for cross encoders pairs of sentences, that were longer than the model's
            maximum length.
        truncated_pairs: how many of these are pairs of sentences.
        max_length: the maximum length in tokens, ``None`` when there is none; of several, the shortest.
        kept_seconds: original cost of the vectors or tokens found on disk.
            The full cost of scores is the time measured now plus these.
    """

    truncated: int = 0
    truncated_pairs: int = 0
    max_length: int | None = None
    kept_seconds: float = 0.0

    @model_validator(mode="before")
    @classmethod
    def _read_earlier_names(cls, data: Any) -> Any:  # noqa: ANN401 - whatever is to be validated
        return with_new_names(data, cut="truncated", cut_pairs="truncated_pairs")

    @classmethod
    def of_fused(cls, efforts: Iterable[Effort]) -> Effort:
        """Return the effort of scores that combine several retrievers' scores."""
        every = list(efforts)
        return cls(
            truncated=sum(effort.truncated for effort in every),
            truncated_pairs=sum(effort.truncated_pairs for effort in every),
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
        pairs = sum(effort.truncated_pairs for effort in every)
        return cls(
            truncated=max((effort.truncated - effort.truncated_pairs for effort in every), default=0) + pairs,
            truncated_pairs=pairs,
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
    _effort = Effort()

    @property
    def effort(self) -> Effort:
        """The effort of the last ``prepare`` and, for cross encoders, of the scores since then.

        A sentence that two encoders truncate counts once; pairs of sentences are counted, repeated ones too.
        """
        return self._effort

    def warm(self, texts: Sequence[str], progress: Progress = silent) -> None:  # noqa: B027 - nothing is a good default
        """Compute and store on disk what ``prepare`` needs for these sentences, so that it will be quick.

        A retriever that stores nothing does nothing.
        """

    def prepare(self, documents: Sequence[Document], progress: Progress = silent) -> None:  # noqa: B027 - as ``warm``
        """Index or embed all documents that will be scored, once; replaces what was prepared before.

        Statistics over the collection (such as inverse document frequencies) come from exactly
        these documents: prepare all of them even if only some pairs are ranked. A retriever without
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


def rank_corpus(corpus: Corpus, retriever: Retriever, progress: Progress = silent) -> pd.DataFrame:
    """Prepare a retriever with all documents that a corpus uses, and rank all of its pairs, as ``rank_pairs``."""
    retriever.prepare(list(corpus.used_documents()), progress)
    return rank_pairs(corpus, retriever, corpus.pairs, progress)


def rank_pairs(
    corpus: Corpus, retriever: Retriever, pairs: Sequence[Pair], progress: Progress = silent
) -> pd.DataFrame:
    """Rank all target sentences for every source sentence of some pairs.

    The retriever was prepared with all documents that any pair of the corpus uses, so that scores
    do not depend on how pairs are divided.

    Returns:
        One row per (pair, source sentence, target sentence), in the order of pairs, of source
        sentences, and best target first: ``pair``, ``source``, ``target`` (categorical ids, which
        keeps a row at about 20 bytes), ``score`` (float64, higher is better) and ``rank`` (int32, from 1).
    """
    import pandas as pd

    shapes = [(len(corpus.source_of(pair).sentences), len(corpus.target_of(pair).sentences)) for pair in pairs]
    ends = np.cumsum([rows * columns for rows, columns in shapes], dtype=np.int64)
    total = int(ends[-1]) if pairs else 0

    sentences = _Codes(corpus)
    source, target, rank = (np.empty(total, np.int32) for _ in range(3))
    score = np.empty(total)
    # Pairs with the same target are consecutive, since retrievers keep their data on the last target.
    by_target = sorted(range(len(pairs)), key=lambda place: pairs[place].target)
    for place in progress(by_target, f"rank ({retriever.name})"):
        pair, (rows, columns) = pairs[place], shapes[place]
        block = slice(ends[place] - rows * columns, ends[place])
        scores = retriever.score(corpus.source_of(pair), corpus.target_of(pair))
        order = ranked(scores)
        source[block] = np.repeat(sentences.of(pair.source), columns)
        target[block] = sentences.of(pair.target)[order].ravel()
        score[block] = np.take_along_axis(scores, order, axis=1).ravel()
        rank[block] = np.tile(np.arange(1, columns + 1), rows)

    names: dict[str, int] = {}
    pair_codes = np.array([names.setdefault(pair.id, len(names)) for pair in pairs], np.int32)
    pair_column = np.repeat(pair_codes, np.diff(ends, prepend=0))
    return pd.DataFrame(
        {
            "pair": pd.Categorical.from_codes(pair_column, pd.Index(list(names), dtype=str)),
            "source": pd.Categorical.from_codes(source, sentences.index()),
            "target": pd.Categorical.from_codes(target, sentences.index()),
            "score": score,
            "rank": rank,
        }
    )


class _Codes:
    """Sentence ids as numbers; the ids of different documents are mostly the same few."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._codes: dict[str, int] = {}
        self._of: dict[str, NDArray[np.int32]] = {}

    def of(self, document: str) -> NDArray[np.int32]:
        """Return the codes of a document's sentences."""
        if document not in self._of:
            codes = [self._codes.setdefault(s.id, len(self._codes)) for s in self._corpus.documents[document].sentences]
            self._of[document] = np.array(codes, np.int32)
        return self._of[document]

    def index(self) -> pd.Index[str]:
        """Return the ids in the order of their codes."""
        import pandas as pd

        return pd.Index(list(self._codes), dtype=str)
