"""Ranking NEWS-ECB+: BM25 against ``rank_bm25`` and the paper's scripts; MiniLM encoding each sentence only once."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np

from abcdlink.corpus.records import Corpus, Pair
from abcdlink.retrieval import get_retriever, rank_corpus
from benchmarks import MINILM, NEWS, Claim, cpu, empty_home, ratio, real_corpus, require_minilm, small_corpus

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

Tokenize = Callable[[str], list[str]]
RUNS = 5
"""Our median is over this many runs; a baseline takes seconds and is run once."""


def bm25(data: Path) -> Iterator[Claim]:
    """Compare the whole way from the loaded corpus to the rankings of every source sentence of every pair."""
    corpus = real_corpus(data, NEWS)
    rank_corpus(small_corpus(), get_retriever("bm25"))

    def ranked() -> pd.DataFrame:
        return rank_corpus(corpus, get_retriever("bm25"))

    def ranked_first() -> pd.DataFrame:
        with empty_home():
            return ranked()

    first, _ = cpu(ranked_first, RUNS)
    stored, rankings = cpu(ranked, RUNS)

    tokenize = _tokenizer()
    tokens = {document.id: [tokenize(text) for text in document.texts] for document in corpus.used_documents()}
    same_tokens, orders = cpu(lambda: [_orders(tokens[pair.source], tokens[pair.target]) for pair in corpus.pairs])
    again, _ = cpu(lambda: _paper(corpus, lambda pair: corpus.source_of(pair).texts))
    linked, _ = cpu(lambda: _paper(corpus, lambda pair: map(corpus.source_of(pair).text_of, pair.sources_with_links)))

    count = sum(len(order) for order in orders)
    equal = _equal(corpus, rankings, orders)
    yield Claim(
        what="BM25 rankings equal to those of rank_bm25",
        ours=f"{equal:,} of {count:,}",
        baseline="rank_bm25, one index per pair",
        value=100 * equal / count,
        unit="%",
        least=100,
    )
    yield Claim(
        what="BM25, ready tokens",
        ours=f"{stored:.2f} s CPU, tokens read from the store",
        baseline=f"rank_bm25, one index per pair, tokens in memory: {same_tokens:.2f} s CPU",
        value=ratio(same_tokens, stored),
        least=10,
    )
    paper = f"the paper's scripts, tokenising again for every pair: {again:.2f} s CPU"
    note = "the baseline ranks every source sentence, like ours, and only tokenises (spacy.blank)"
    whole = "BM25, from corpus to rankings, "
    for store, seconds, least in (("empty store", first, 6), ("tokens in the store", stored, 20)):
        yield Claim(
            what=whole + store,
            ours=f"{seconds:.2f} s CPU",
            baseline=paper,
            value=ratio(again, seconds),
            least=least,
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
    """Rank the given source sentences of each pair like the paper's scripts, tokenising every sentence again."""
    tokenize = _tokenizer()
    return [
        _orders([*map(tokenize, sources(pair))], [*map(tokenize, corpus.target_of(pair).texts)])
        for pair in corpus.pairs
    ]


def _equal(corpus: Corpus, rankings: pd.DataFrame, orders: Sequence[NDArray[np.intp]]) -> int:
    """Return how many rankings are equal, position by position."""
    ours = rankings["target"].to_numpy(str)
    start = equal = 0
    for pair, order in zip(corpus.pairs, orders, strict=True):
        ids = np.array([sentence.id for sentence in corpus.target_of(pair).sentences])
        block = ours[start : start + order.size].reshape(order.shape)
        equal += int((block == ids[order]).all(axis=1).sum())
        start += order.size
    return equal


MODEL = "all-minilm-l6-v2"
PAIRS, SEED = 200, 13
AGAIN = 5
"""The median of this many runs from the store is taken."""


def encodes(data: Path) -> Iterator[Claim]:
    """Count and time the encodings; neither time includes loading the model."""
    require_minilm()
    corpus = real_corpus(data, NEWS)
    chosen = random.Random(SEED).sample(range(len(corpus.pairs)), PAIRS)
    corpus = corpus.model_copy(update={"pairs": [corpus.pairs[index] for index in sorted(chosen)]})

    with empty_home(), _counted() as counted:
        rank_corpus(small_corpus(), get_retriever(MODEL))
        counted.clear()
        first, _ = cpu(lambda: rank_corpus(corpus, get_retriever(MODEL)))
        once = sum(counted)
        counted.clear()
        again, _ = cpu(lambda: rank_corpus(corpus, get_retriever(MODEL)), AGAIN)
        if counted:
            msg = f"{sum(counted)} sentences were encoded a second time"
            raise AssertionError(msg)
    documents, linked = _per_pair(corpus)

    name = f"MiniLM, {PAIRS} random pairs"
    note = "a pair's two documents are encoded again each time, as every source sentence is ranked"
    yield Claim(
        what=f"{name}: encoded sentences",
        ours=f"{once:,}",
        baseline=f"encoding per pair: {documents.sentences:,}",
        value=ratio(documents.sentences, once),
        note=note,
    )
    yield Claim(
        what=f"{name}: time",
        ours=f"{first:.1f} s CPU, including ranking and storing",
        baseline=f"encoding per pair: {documents.seconds:.1f} s CPU, encoding only",
        value=ratio(documents.seconds, first),
        note=note,
    )
    yield Claim(
        what=f"{name}: time",
        ours=f"{first:.1f} s CPU for all source sentences",
        baseline=f"the same for sources with links only ({linked.sentences:,} sentences): {linked.seconds:.1f} s CPU",
        value=ratio(linked.seconds, first),
        note="the paper's scripts encode target documents and sources with links",
    )
    yield Claim(
        what=f"{name}: again, from the store",
        ours=f"{again:.2f} s CPU",
        baseline=f"the first run: {first:.1f} s CPU",
        value=ratio(first, again),
        least=50,
    )


class _Encodes:
    """The cost of a way of encoding."""

    def __init__(self, model: Any) -> None:  # noqa: ANN401 - sentence-transformers has no types
        self._model = model
        self.sentences = 0
        self.seconds = 0.0

    def encode(self, texts: Sequence[str]) -> None:
        from abcdlink.retrieval.encoders import BATCH

        spent, _ = cpu(lambda: self._model.encode(list(texts), batch_size=BATCH, show_progress_bar=False))
        self.sentences += len(texts)
        self.seconds += spent


def _per_pair(corpus: Corpus) -> tuple[_Encodes, _Encodes]:
    """Encode per pair: once both whole documents, once the target and the sources with links."""
    import torch
    from sentence_transformers import SentenceTransformer

    from abcdlink.retrieval.models import MODELS, locate

    torch.set_num_threads(1)
    model = SentenceTransformer(str(locate(MODELS[MODEL].hub, MINILM)), device="cpu", local_files_only=True)
    model.encode(["warm"], show_progress_bar=False)
    targets, sources, linked = _Encodes(model), _Encodes(model), _Encodes(model)
    for pair in corpus.pairs:
        source = corpus.source_of(pair)
        targets.encode(corpus.target_of(pair).texts)
        sources.encode(source.texts)
        linked.encode([source.text_of(sentence) for sentence in pair.sources_with_links])
    for encodes in (sources, linked):
        encodes.sentences += targets.sentences
        encodes.seconds += targets.seconds
    return sources, linked


@contextmanager
def _counted() -> Iterator[list[int]]:
    """Collect how many sentences each call of the model is given."""
    from sentence_transformers import SentenceTransformer

    real = SentenceTransformer.encode
    counted: list[int] = []

    def encode(self: Any, texts: Sequence[str], *rest: Any, **options: Any) -> Any:  # noqa: ANN401
        counted.append(len(texts))
        return real(self, texts, *rest, **options)

    with mock.patch.object(SentenceTransformer, "encode", encode):
        yield counted
