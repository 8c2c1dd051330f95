"""Links are the targets above the largest gap between consecutive ranked scores; always one at least.

Only the gaps below the first n targets count, so that a fall at the end of a long list is no cut:
k = argmax over k <= n of s_k - s_(k+1), the smallest k of equal ones.
"""

from __future__ import annotations

import numpy as np

from abcdlink.linking.cutoffs.rows import Mask, Rows, Truth

MOST = 10
"""Largest n that is tried."""


def fit(rows: Rows, truth: Truth) -> dict[str, float]:
    """Return the n from 1 to 10 with the highest F1, the smallest of equally good ones."""
    scores = [truth.f1(choose(rows, n)) for n in range(1, MOST + 1)]
    return {"first": float(1 + int(np.argmax(scores)))}


def choose(rows: Rows, first: float) -> Mask:
    """Choose the rows above the largest gap below the first ``first`` ranks of their source."""
    below = np.append(rows.score[1:], np.nan)
    # The last target of a source has no gap below it.
    gap = np.where((rows.rank <= first) & (rows.rank < rows.size), rows.score - below, -np.inf)
    widest = (gap == rows.best(gap)) & (gap > -np.inf)
    k = rows.over_source(np.minimum, np.where(widest, rows.rank, np.inf).astype(np.float64))
    chosen: Mask = rows.rank <= np.where(np.isfinite(k), k, 1)
    return chosen
