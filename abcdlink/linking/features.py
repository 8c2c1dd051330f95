"""Features of each two sentences of a pair, for the models of learned linkers.

From the scores: how two sentences stand among the others of the source, the target and the pair, and
features of the source as a whole.
Scores are z-scores over the pair, so that what is learned on one corpus applies to others.
From the texts: names, numbers and rare words in common; and lengths.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.records import Corpus, Document, Pair
from abcdlink.languages import Tokenizer, tokenizer
from abcdlink.linking.learners import BaseScores, Matrix, read_name
from abcdlink.progress import Progress, silent
from abcdlink.retrieval.base import ranked
from abcdlink.retrieval.lexical import Products, StoredTokens, TermCounts, normalised_tokens
from abcdlink.retrieval.registry import z_scores

if TYPE_CHECKING:
    import pandas as pd

TEMPERATURE = 0.5
"""Temperature of the softmaxes, in standard deviations of the pair's scores."""
TINY = 1e-9


def relations(z: Matrix) -> dict[str, Matrix]:
    """Return the features of z-scores of shape (source sentences, target sentences), each of the same shape.

    Ranks in both directions, distances from the best of the source and of the target, z-scores among
    the targets of the source and among the sources of the target, and the logarithms of the softmaxes
    in both directions, which say how much a score stands out.
    """
    return {
        "z": z,
        "z_source": _standard(z, axis=1),
        "z_target": _standard(z, axis=0),
        "rank_source": 1 / (_ranks(z) + 1),
        "rank_target": 1 / (_ranks(z.T).T + 1),
        "below_source": z - z.max(axis=1, keepdims=True),
        "below_target": z - z.max(axis=0, keepdims=True),
        "softmax_source": _log_softmax(z / TEMPERATURE, axis=1),
        "softmax_target": _log_softmax(z / TEMPERATURE, axis=0),
    }


def of_source(z: Matrix) -> dict[str, Matrix]:
    """Return features that separate sources with links from others: the best z-score and its rivals.

    The best, how far it is above the second, and how it compares with the best ones of the pair's other sources:
    in standard deviations, and as the share of sources that have a better one.
    """
    best = z.max(axis=1, keepdims=True)
    second = np.partition(z, -2, axis=1)[:, -2:-1] if z.shape[1] > 1 else best
    better = (best < best.T).mean(axis=1, keepdims=True)
    columns = {"best": best, "gap": best - second, "best_z": _standard(best, axis=0), "better": better}
    return {name: np.broadcast_to(values, z.shape) for name, values in columns.items()}


def neighbours(z: Matrix) -> dict[str, Matrix]:
    """Return the best z-score around each two sentences: links often come next to each other.

    Around the target sentence, around the source sentence, and with both moved in the same direction;
    places outside the documents count as the mean, 0.
    """
    wide = np.pad(z, 1)
    return {
        "near_target": np.maximum(wide[1:-1, 2:], wide[1:-1, :-2]),
        "near_source": np.maximum(wide[2:, 1:-1], wide[:-2, 1:-1]),
        "near_both": np.maximum(wide[2:, 2:], wide[:-2, :-2]),
    }


def _standard(scores: Matrix, axis: int) -> Matrix:
    deviation = scores.std(axis=axis, keepdims=True)
    standard: Matrix = (scores - scores.mean(axis=axis, keepdims=True)) / np.where(deviation > TINY, deviation, np.inf)
    return standard


def _ranks(scores: Matrix) -> Matrix:
    """Return the rank of each target among those of its source, from 0; ties in document order."""
    ranks = np.empty(scores.shape)
    np.put_along_axis(ranks, ranked(scores), np.arange(scores.shape[1], dtype=float)[None, :], axis=1)
    return ranks


def _log_softmax(scores: Matrix, axis: int) -> Matrix:
    centred = scores - scores.max(axis=axis, keepdims=True)
    logs: Matrix = centred - np.log(np.exp(centred).sum(axis=axis, keepdims=True))
    return logs


def name_tokenizer() -> Tokenizer:
    """Return a tokenizer for the capitalised tokens of a sentence, except the first: mostly names."""
    split = tokenizer()
    return lambda text: [token for token in split(text)[1:] if token[:1].isupper()]


def number_tokenizer() -> Tokenizer:
    """Return a tokenizer for the tokens with a digit."""
    split = tokenizer()
    return lambda text: [token for token in split(text) if any(map(str.isdigit, token))]


class _Common(NamedTuple):
    """Terms of one kind: the weight of those in common, and of all in each sentence."""

    of_two: Products
    of_one: NDArray[np.float64]


class Texts:
    """Features of two sentences that need their texts.

    A word's rarity is counted over the distinct sentences of all documents.
    """

    def __init__(self, documents: Sequence[Document], progress: Progress) -> None:
        words = TermCounts(documents, normalised_tokens(), progress)
        names = TermCounts(documents, StoredTokens("names", name_tokenizer, ["spacy"]), progress)
        numbers = TermCounts(documents, StoredTokens("numbers", number_tokenizer, ["spacy"]), progress)
        self._rows = words.rows
        self._length = np.log1p(words.lengths)
        self._kinds = {
            "words": _common(words, words.rarity()),
            "names": _common(names, np.ones(names.counts.shape[1])),
            "numbers": _common(numbers, np.ones(numbers.counts.shape[1])),
        }

    def of(self, source: Document, target: Document) -> dict[str, Matrix]:
        """Return the features, each of shape (source sentences, target sentences)."""
        rows, columns = self._rows[source.id], self._rows[target.id]
        shape = len(source.sentences), len(target.sentences)
        features: dict[str, Matrix] = {}
        for kind, common in self._kinds.items():
            both = common.of_two(source, target)
            mine, theirs = common.of_one[rows][:, None], common.of_one[columns][None, :]
            features[f"{kind}_common"] = both
            features[f"{kind}_of_source"] = both / np.maximum(mine, 1)
            features[f"{kind}_of_target"] = both / np.maximum(theirs, 1)
            features[f"{kind}_source"] = np.broadcast_to(mine, shape)
            features[f"{kind}_target"] = np.broadcast_to(theirs, shape)
        longer = self._length[rows][:, None] - self._length[columns][None, :]
        ones = np.ones(shape)
        return features | {
            "length_source": self._length[rows][:, None] * ones,
            "length_ratio": longer,
            "sources": np.log(shape[0]) * ones,
            "targets": np.log(shape[1]) * ones,
        }


def _common(terms: TermCounts, weights: NDArray[np.float64]) -> _Common:
    """Return the weights of common terms; a term that a sentence repeats counts once."""
    once = terms.with_values(np.ones_like(terms.counts.data))
    weighed = terms.with_values(weights[terms.counts.indices])
    return _Common(Products(terms, once, weighed), np.asarray(weighed.sum(axis=1)).ravel())


FUSED = (0.5, 0.5, 1.0)
"""Weights of the base retrievers in their fusion, as in the retriever ``hybrid``."""
SHORT = ("jaccard", "bm25", "dense")
"""The base retrievers in the names of features, whichever model is the dense one."""


class Features:
    """Features of the pairs of one corpus.

    ``name``: the learned linker, which names its base retrievers; ``rankings``: those of the corpus, by base retriever.
    Raises ``InputError`` when the rankings of a base retriever are missing.
    """

    def __init__(
        self,
        name: str,
        rankings: Mapping[str, pd.DataFrame],
        corpus: Corpus,
        progress: Progress = silent,
    ) -> None:
        self._corpus = corpus
        self._scores = BaseScores(read_name(name).retrievers, rankings, corpus)
        self._texts = Texts(list(corpus.used_documents()), progress)

    def of(self, pair: Pair) -> NDArray[np.float32]:
        """Return the features of a pair.

        Returns:
            Shape (source sentences * target sentences, features), the targets of a source together, in
            document order.

        Raises:
            InputError: when rankings do not contain every two sentences of the pair once.
        """
        source, target = self._corpus.source_of(pair), self._corpus.target_of(pair)
        columns = self._of_scores(pair) | self._texts.of(source, target)
        return np.stack([values.ravel() for values in columns.values()], axis=1, dtype=np.float32)

    def _of_scores(self, pair: Pair) -> dict[str, NDArray[np.float64]]:
        scores = dict(zip(SHORT, self._scores.of(pair), strict=True))
        z = {kind: z_scores(matrix) for kind, matrix in scores.items()}
        z["fused"] = np.sum([weight * matrix for weight, matrix in zip(FUSED, z.values(), strict=True)], axis=0)
        columns = {f"{kind}_score": scores[kind] for kind in ("jaccard", "dense")}
        for kind, matrix in z.items():
            columns |= {f"{kind}_{name}": values for name, values in relations(matrix).items()}
        for kind in ("dense", "fused"):
            columns |= {f"{kind}_{name}": values for name, values in neighbours(z[kind]).items()}
        columns |= {f"source_{name}": values for name, values in of_source(z["fused"]).items()}
        return columns
