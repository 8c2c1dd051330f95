"""A small synthetic corpus that a linker can learn from."""

from __future__ import annotations

import numpy as np

from abcdlink.corpus.records import Corpus, Pair
from abcdlink.retrieval import get_retriever, rank_corpus
from tests.helpers.scripted import Scripted, scripted_document

BASE = ("jaccard", "bm25-stemmed", "all-minilm-l6-v2")
WORDS = [
    *("river", "storm", "court", "vote", "fire", "train", "market", "school"),
    *("doctor", "bridge", "tower", "garden", "engine", "letter", "island", "harbour"),
]


def made_corpus(seed=0, pairs=9, name="made"):
    """Return a corpus and its base rankings: linked sentences have words in common, and the dense scores have noise."""
    random = np.random.default_rng(seed)
    documents, rows, dense = {}, [], {}
    for n in range(pairs):
        topics = random.permutation(WORDS)[:6]
        noise = [" ".join(random.choice(WORDS, 3)) for _ in range(12)]
        sources = [f"The {topics[i]} of {topics[i].title()} in {n} {noise[i]}." for i in range(5)]
        order = random.permutation(7)
        targets = [
            f"A {topics[i]} at {topics[i].title()} {noise[5 + i]}." if i < 5 else f"And {noise[5 + i]}." for i in order
        ]
        gold = {f"s{i}": (f"s{int(np.flatnonzero(order == i)[0])}",) for i in range(4)}
        documents |= {f"a{n}": scripted_document(f"a{n}", sources), f"b{n}": scripted_document(f"b{n}", targets)}
        rows.append(Pair(id=f"p{n}", source=f"a{n}", target=f"b{n}", links=gold))
        linked = np.array([[j in {int(t[1:]) for t in gold.get(f"s{i}", ())} for j in range(7)] for i in range(5)])
        dense[f"a{n}", f"b{n}"] = (0.5 * linked + random.normal(0, 0.4, linked.shape)).tolist()
    corpus = Corpus(name=name, documents=documents, pairs=rows)
    rankings = {retriever: rank_corpus(corpus, get_retriever(retriever)) for retriever in BASE[:2]}
    return corpus, rankings | {BASE[2]: rank_corpus(corpus, Scripted(dense))}
