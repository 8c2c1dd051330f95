"""Rankings of whole corpora as one table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.records import Corpus, Pair
from abcdlink.progress import Progress, silent
from abcdlink.retrieval.base import Retriever, ranked

if TYPE_CHECKING:
    import pandas as pd


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
    # Pairs with the same target one after the other: retrievers keep what they made of the last target.
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
