"""A synthetic corpus of any size, whose sentences are drawn from the facts of the example run."""

from __future__ import annotations

import random

from abcdlink.corpus.records import Corpus, Pair, PairKind
from tests.helpers.builders import document
from tests.helpers.example_run import FACTS


def synthetic(pairs: int) -> Corpus:
    chooser, documents, made = random.Random(pairs), {}, []
    for number in range(pairs):
        for side in "ab":
            texts = (f"{chooser.choice(FACTS)} Item {chooser.randrange(99)}." for _ in range(6))
            documents[f"{number}{side}"] = document(f"{number}{side}", texts)
        links = {"0": ("1", "3"), "2": ("2",)}
        pair = Pair(id=f"p{number}", source=f"{number}a", target=f"{number}b", kind=PairKind.SYNTHETIC, links=links)
        made.append(pair)
    return Corpus(name="synthetic", documents=documents, pairs=made)
