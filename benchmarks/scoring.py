"""Scoring: the bootstrap against a plain loop, and how ranking and scoring scale with the number of pairs."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from abcdlink.corpus.records import Corpus
from abcdlink.evaluation.scores import score_ranking
from abcdlink.retrieval import get_retriever, rank_corpus
from abcdlink.statistics import RESAMPLES, bootstrap_mean
from benchmarks import MINILM, NEWS, Claim, cpu, ratio, real_corpus

LOOPED = 1_000
"""Resamples of the loop; its time is scaled linearly."""
TIMES = 5
CUTOFF = 3


def resampling(data: Path) -> Iterator[Claim]:
    """Compare the 95 % interval of the difference in F1 between two retrievers."""
    corpus = real_corpus(data, NEWS)
    a, b = (
        score_ranking(corpus, rank_corpus(corpus, get_retriever(name)), (CUTOFF,))["f1"].to_numpy()
        for name in ("jaccard", "bm25")
    )
    noise = np.random.default_rng(0).uniform(-1e-6, 1e-6, len(a))
    for what, values, least in (("", a - b, 20), (", all values different", a - b + noise, None)):
        ours, found = cpu(partial(bootstrap_mean, values), TIMES)
        looped, means = cpu(partial(_loop, values.tolist(), LOOPED))
        low, high = np.percentile(means, (2.5, 97.5))
        if not (abs(found.low - low) < 0.001 and abs(found.high - high) < 0.001):
            msg = f"the intervals differ: {found} and {low}, {high}"
            raise AssertionError(msg)
        scaled = looped * RESAMPLES / LOOPED
        yield Claim(
            what=f"Bootstrap, {RESAMPLES:,} resamples of {len(a):,} sources{what}",
            ours=f"{ours:.3f} s CPU",
            baseline=f"random.choices and sum in a loop: {scaled:.1f} s CPU ({LOOPED:,} resamples, scaled)",
            value=ratio(scaled, ours),
            least=least,
            note=f"difference in F1@{CUTOFF} between jaccard and bm25, with few distinct values; the intervals agree",
        )


def _loop(values: Sequence[float], resamples: int) -> list[float]:
    draw = random.Random(0)
    return [sum(draw.choices(values, k=len(values))) / len(values) for _ in range(resamples)]


SIZES = (250, 500, 1000, 1750, 2500)
CUTOFFS = (1, 3, 5, 7, 10, 20)
ORDER_SEED = 13
GROWTH_RUNS = 3
MOST_GROWTH = 1.15


def growth(data: Path) -> Iterator[Claim]:
    """Regress log time on log pairs; a slope of 1 is linear growth."""
    corpus = real_corpus(data, NEWS)
    order = random.Random(ORDER_SEED).sample(corpus.pairs, len(corpus.pairs))
    for retriever in ("bm25", "hybrid") if find_spec(MINILM) else ("bm25",):
        rank_corpus(corpus, get_retriever(retriever))  # Fills the stores.
        parts = [corpus.model_copy(update={"pairs": order[:count]}) for count in SIZES]
        seconds = [cpu(partial(_run, part, retriever), GROWTH_RUNS)[0] for part in parts]
        slope = float(np.polyfit(np.log(SIZES), np.log(seconds), 1)[0])
        yield Claim(
            what=f"Growth from {SIZES[0]} to {SIZES[-1]} pairs, {retriever}",
            ours=", ".join(f"{one:.2f}" for one in seconds) + " s CPU",
            baseline="slope of log time on log pairs; 1 is linear",
            value=slope,
            unit="",
            most=MOST_GROWTH,
            note=f"ranking and scoring {', '.join(map(str, SIZES))} random pairs, sentences in the store",
        )


def _run(corpus: Corpus, retriever: str) -> None:
    score_ranking(corpus, rank_corpus(corpus, get_retriever(retriever)), CUTOFFS)
