"""Links are the targets that are likely in both directions; always one at least.

p = softmax of s / T over the targets of the source, times the power w of the softmax of s / T over the
sources of the target: with w = 1 it is near 1 only where both choose each other, with w = 0 the sources
do not compete. Temperature T, weight w and threshold of p are fitted. The two-way (dual) softmax is
from Cheng et al., "Improving Video-Text Retrieval by Multi-Stream Corpus Alignment and Dual Softmax
Loss" (2021); the weight is ours, since most source sentences of a document have no link and yet compete.
"""

from __future__ import annotations

import numpy as np

from abcdlink.linking.cutoffs.rows import Mask, Rows, Truth, Values

TEMPERATURES = (0.35, 0.5, 0.7, 1.0, 1.4)
"""Those that are tried, in standard deviations of all scores."""
WEIGHTS = (0.0, 0.25, 0.5, 1.0)


def fit(rows: Rows, truth: Truth) -> dict[str, float]:
    """Return the temperature, the weight and the threshold with the highest F1."""
    spread = float(rows.score.std()) or 1.0
    found: list[tuple[float, dict[str, float]]] = []
    for temperature in (share * spread for share in TEMPERATURES):
        logs = log_two_way(rows, rows.score / temperature)
        for weight in WEIGHTS:
            threshold, f1 = truth.best_threshold(_p(*logs, weight), at_least_one=True)
            found.append((f1, {"temperature": temperature, "weight": weight, "threshold": threshold}))
    return max(found, key=lambda one: one[0])[1]


def choose(rows: Rows, temperature: float, weight: float, threshold: float) -> Mask:
    """Choose the rows with p >= threshold, and the top-ranked row of every source."""
    p = _p(*log_two_way(rows, rows.score / temperature), weight)
    chosen: Mask = (p >= threshold) | (rows.rank == 1)
    return chosen


def log_two_way(rows: Rows, scaled: Values) -> tuple[Values, Values]:
    """Return the logarithms of the softmax over the targets and over the sources; ``scaled``: s / T."""
    over_targets = scaled - rows.best(scaled)
    over_targets -= np.log(rows.over_source(np.add, np.exp(over_targets)))
    over_sources = scaled - rows.best_of_target(scaled)
    over_sources -= np.log(np.bincount(rows.target, np.exp(over_sources)))[rows.target]
    return over_targets, over_sources


def _p(over_targets: Values, over_sources: Values, weight: float) -> Values:
    p: Values = np.exp(over_targets + weight * over_sources)
    return p
