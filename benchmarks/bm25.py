"""BM25 on NEWS-ECB+: the rankings of ``rank_bm25`` and of the paper's way, and what they cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from abcdlink.corpus.records import Corpus, Pair
from abcdlink.retrieval import get_retriever, rank_corpus
from benchmarks.claims import Claim, cpu, empty_home, news, ratio, small_corpus

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

Tokenize = Callable[[str], list[str]]
TIMES = 5
"""Runs of ours of which the median is taken; a baseline takes seconds and is run once."""


def claims(data: Path) -> Iterator[Claim]:
    """Compare whole paths from the loaded corpus to the rankings of every source sentence of every pair."""
    corpus = news(data)
    rank_corpus(small_corpus(), get_retriever("bm25"))

    def ranked() -> pd.DataFrame:
        return rank_corpus(corpus, get_retriever("bm25"))

    def ranked_first() -> pd.DataFrame:
        with empty_home():
            return ranked()

    first, _ = cpu(ranked_first, TIMES)
    stored, rankings = cpu(ranked, TIMES)

    tokenize = _tokenizer()
    tokens = {document.id: [tokenize(text) for text in document.texts] for document in corpus.used_documents()}
    same_tokens, orders = cpu(lambda: [_orders(tokens[pair.source], tokens[pair.target]) for pair in corpus.pairs])
    anew, _ = cpu(lambda: _paper(corpus, lambda pair: corpus.source_of(pair).texts))
    linked, _ = cpu(lambda: _paper(corpus, lambda pair: map(corpus.source_of(pair).text_of, pair.sources_with_links)))

    count = sum(len(order) for order in orders)
    equal = _equal(corpus, rankings, orders)
    yield Claim(
        what="BM25 rankings that are those of rank_bm25",
        ours=f"{equal:,} of {count:,}",
        baseline="rank_bm25, one index per pair",
        value=100 * equal / count,
        unit="%",
        least=100,
    )
    yield Claim(
        what="BM25, tokens at hand",
        ours=f"{stored:.2f} s CPU, tokens read from the store",
        baseline=f"rank_bm25, one index per pair, tokens in memory: {same_tokens:.2f} s CPU",
        value=ratio(same_tokens, stored),
        least=10,
    )
    paper = f"the paper's way, tokens anew for every pair: {anew:.2f} s CPU"
    note = "the baseline ranks every source sentence, as ours does, and only splits into tokens (spacy.blank)"
    whole = "BM25, whole path, "
    yield Claim(
        what=whole + "empty store",
        ours=f"{first:.2f} s CPU",
        baseline=paper,
        value=ratio(anew, first),
        least=6,
        note=note,
    )
    yield Claim(
        what=whole + "tokens in the store",
        ours=f"{stored:.2f} s CPU",
        baseline=paper,
        value=ratio(anew, stored),
        least=20,
        note=note,
    )
    yield Claim(
        what=whole + "tokens in the store",
        ours=f"{stored:.2f} s CPU for all source sentences",
        baseline=f"the same for the {corpus.source_count:,} sources with links only: {linked:.2f} s CPU",
        value=ratio(linked, stored),
        note="the paper's scripts rank sources with links only: a ninth of the rankings",
    )


def _tokenizer() -> Tokenize:
    import spacy

    split = spacy.blank("en").tokenizer
    return lambda text: [token.text for token in split(text)]


def _orders(sources: Sequence[list[str]], targets: Sequence[list[str]]) -> NDArray[np.intp]:
    """Rank as ``rank_bm25`` does: target positions best first, shape (source, target sentences)."""
    from rank_bm25 import BM25Okapi

    index = BM25Okapi(targets)
    return np.array([np.argsort(-np.round(index.get_scores(source), 6), kind="stable") for source in sources])


def _paper(corpus: Corpus, sources: Callable[[Pair], Iterable[str]]) -> list[NDArray[np.intp]]:
    """Rank the given source sentences of each pair as the paper does: everything is split into tokens anew."""
    tokenize = _tokenizer()
    return [
        _orders([*map(tokenize, sources(pair))], [*map(tokenize, corpus.target_of(pair).texts)])
        for pair in corpus.pairs
    ]


def _equal(corpus: Corpus, rankings: pd.DataFrame, orders: Sequence[NDArray[np.intp]]) -> int:
    """Return how many rankings are the same, position by position."""
    ours = rankings["target"].to_numpy(str)
    start = equal = 0
    for pair, order in zip(corpus.pairs, orders, strict=True):
        ids = np.array([sentence.id for sentence in corpus.target_of(pair).sentences])
        block = ours[start : start + order.size].reshape(order.shape)
        equal += int((block == ids[order]).all(axis=1).sum())
        start += order.size
    return equal
