"""What the texts of two sentences have in common beside retrieval scores: names, numbers, rare words; and lengths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.records import Document
from abcdlink.progress import Progress
from abcdlink.retrieval.products import Products
from abcdlink.retrieval.terms import TermCounts
from abcdlink.retrieval.tokens import KeptTokens, Tokenizer, normalised_tokens, paper_tokenizer

Matrix = NDArray[np.float64]


def name_tokenizer() -> Tokenizer:
    """Return a tokenizer that gives the capitalised tokens of a sentence but its first: mostly names."""
    split = paper_tokenizer()
    return lambda text: [token for token in split(text)[1:] if token[:1].isupper()]


def number_tokenizer() -> Tokenizer:
    """Return a tokenizer that gives the tokens with a digit."""
    split = paper_tokenizer()
    return lambda text: [token for token in split(text) if any(map(str.isdigit, token))]


class _Common(NamedTuple):
    """Terms of one kind: the weight of those in common, and of all in each sentence."""

    of_two: Products
    of_one: NDArray[np.float64]


class Texts:
    """Features of two sentences that need their texts.

    Args:
        documents: all documents of the corpus; how rare a word is, is counted over their distinct sentences.
        progress: told of sentences that are tokenised.
    """

    def __init__(self, documents: Sequence[Document], progress: Progress) -> None:
        words = TermCounts(documents, normalised_tokens(), progress)
        names = TermCounts(documents, KeptTokens("names", name_tokenizer, ["spacy"]), progress)
        numbers = TermCounts(documents, KeptTokens("numbers", number_tokenizer, ["spacy"]), progress)
        self._rows = words.rows
        self._length = np.log1p(words.lengths)
        self._kinds = {
            "words": _common(words, _rarity(words)),
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


def positions(sources: int, targets: int) -> dict[str, Matrix]:
    """Return how near the sentences are to the beginning of their documents, and how alike their places are.

    These features overfit: where links stand in a document differs between kinds of text.
    """
    source, target = (1 / np.arange(1, size + 1) for size in (sources, targets))
    places = [np.arange(size) / max(size - 1, 1) for size in (sources, targets)]
    ones = np.ones((sources, targets))
    return {
        "start_source": source[:, None] * ones,
        "start_target": target[None, :] * ones,
        "place_difference": np.abs(places[0][:, None] - places[1][None, :]),
    }


def _common(terms: TermCounts, weights: NDArray[np.float64]) -> _Common:
    """Return the weights of common terms; a term that a sentence repeats counts once."""
    once = terms.with_values(np.ones_like(terms.counts.data))
    weighed = terms.with_values(weights[terms.counts.indices])
    return _Common(Products(terms, once, weighed), np.asarray(weighed.sum(axis=1)).ravel())


def _rarity(terms: TermCounts) -> NDArray[np.float64]:
    """Return ln(1 + (N - n + 0.5) / (n + 0.5)) for each term, in n of N distinct sentences (Lucene's idf)."""
    n = np.bincount(terms.counts[terms.first].indices, minlength=terms.counts.shape[1])
    rarity: NDArray[np.float64] = np.log1p((len(terms.first) - n + 0.5) / (n + 0.5))
    return rarity
