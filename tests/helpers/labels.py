"""A run with a small learned linker, and corpora for it to label."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from abcdlink import Example, Linker
from abcdlink.corpus.io import write_corpus_to
from abcdlink.corpus.records import Corpus, Document, Pair
from abcdlink.domain import Domain
from abcdlink.evaluation.shortlist import Shortlist
from abcdlink.layout import SHORTLIST
from abcdlink.linking.learners import base_retrievers
from abcdlink.linking.records import Approach, ApproachKind
from abcdlink.stages.intake import describe_run
from abcdlink.stages.learn import learn_linker
from abcdlink.stages.rank import rank
from abcdlink.store import Store, open_run
from tests.helpers.builders import document

LINKER = f"{__name__}:WordOverlap"
PROBABLE = "learned-logistic:bm25"
"""One of our linkers, whose retrievers load no model."""
WORDS = ("river", "storm", "court", "vote", "fire", "train", "market", "school", "doctor", "bridge", "tower", "garden")


class WordOverlap(Linker):
    """The share of common words, scaled by that of gold links, as a probability."""

    retrievers = ("jaccard",)
    probabilities = True

    def fit(self, examples: Sequence[Example]) -> JsonValue:
        return float(np.mean(np.concatenate([one.scores["jaccard"][one.linked] for one in examples])))

    def score(self, fitted: JsonValue, example: Example) -> NDArray[np.float64]:
        assert isinstance(fitted, float)
        return np.clip(0.9 * example.scores["jaccard"] / fitted, 0, 0.95)


@cache
def made(name: str, count: int, seed: int) -> Corpus:
    """Return pairs of 4 by 5 sentences; the first three sources have the words of one target each."""
    random = np.random.default_rng(seed)
    documents: dict[str, Document] = {}
    pairs = []
    for n in range(count):
        topics = [" ".join(random.choice(WORDS, 3, replace=False)) for _ in range(9)]
        targets = [*topics[:3], *topics[7:9]]
        source = document(f"{name}-{n}-a", [f"The {topic} number {n}." for topic in topics[:4]], "s{n}")
        target = document(f"{name}-{n}-b", [f"A {topic} in {name}." for topic in targets], "t{n}")
        documents |= {source.id: source, target.id: target}
        links = {f"s{place}": (f"t{place}",) for place in range(3)}
        pairs.append(Pair(id=f"{name}-{n}", source=source.id, target=target.id, links=links))
    return Corpus(name=name, documents=documents, pairs=pairs)


def run_with_linker(key: str = "run") -> Store:
    """Return a run that has fitted the linker on 12 synthetic pairs."""
    store = open_run(key)
    write_corpus_to(store, "synthetic", made("fitted", 12, seed=1))
    store.note("corpus", {"language": "en"})
    rank(store, "synthetic", "jaccard")
    learn_linker(store, LINKER, 3)
    return store


@cache
def strict(gold: bool = True) -> Corpus:
    """Return pairs of equal similarity of which people call only some a link."""
    corpus = made("new", 30, seed=2)
    links = [{"s0": ("t0",), "s1": ("t1",)} if n % 2 else {"s0": ("t0",)} for n in range(30)]
    pairs = [
        pair.model_copy(update={"links": of if gold else None}) for pair, of in zip(corpus.pairs, links, strict=True)
    ]
    return corpus.model_copy(update={"pairs": pairs})


def fill_for_budget(store: Store, domain: Domain, natural: Corpus) -> None:
    """Give a run natural pairs, our linker fitted on synthetic ones, and a shortlist with it."""
    describe_run(store, domain)
    store.note("corpus", {"language": "en"})
    write_corpus_to(store, "synthetic", made("fitted", 20, seed=1))
    write_corpus_to(store, "natural", natural)
    for retriever in base_retrievers(PROBABLE):
        rank(store, "synthetic", retriever)
    learn_linker(store, PROBABLE, 3)
    approach = Approach(kind=ApproachKind.LEARNED, retriever=PROBABLE, cutoff=1)
    store.write_record(SHORTLIST, Shortlist(first=approach, reasons=("named",)))
