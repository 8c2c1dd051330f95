"""The bootstrap: 10,000 resamples of the 5,172 sources of NEWS-ECB+ against a plain loop."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from abcdlink.evaluation.scores import score_ranking
from abcdlink.retrieval import get_retriever, rank_corpus
from abcdlink.statistics import bootstrap_mean
from benchmarks.claims import Claim, cpu, news, ratio

RESAMPLES = 10_000
LOOPED = 1_000
"""Resamples of the loop, whose time is scaled linearly."""
TIMES = 5
CUTOFF = 3


def claims(data: Path) -> Iterator[Claim]:
    """Compare the 95 % interval of the difference in F1 between two retrievers."""
    corpus = news(data)
    a, b = (
        score_ranking(corpus, rank_corpus(corpus, get_retriever(name)), (CUTOFF,))["f1"].to_numpy()
        for name in ("jaccard", "bm25")
    )
    noise = np.random.default_rng(0).uniform(-1e-6, 1e-6, len(a))
    for what, values, least in (("", a - b, 20), (", all values different", a - b + noise, None)):
        ours, found = cpu(partial(bootstrap_mean, values, RESAMPLES), TIMES)
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
            note=f"difference in F1@{CUTOFF} between jaccard and bm25, which takes few values; the intervals agree",
        )


def _loop(values: Sequence[float], resamples: int) -> list[float]:
    draw = random.Random(0)
    return [sum(draw.choices(values, k=len(values))) / len(values) for _ in range(resamples)]
