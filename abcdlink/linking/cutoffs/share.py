"""Links are the targets whose score is at least a share of the source's top score; always one at least.

Scores are taken from the lowest score of the pair, since cosines and fused scores may be negative:
share = (s - low) / (top - low). Where the lowest is 0, as for lexical scores, this is s / top.
"""

from __future__ import annotations

import numpy as np

from abcdlink.linking.cutoffs.rows import Mask, Rows, Truth, Values


def fit(rows: Rows, truth: Truth) -> dict[str, float]:
    """Return the share with the highest F1."""
    return {"share": truth.best_threshold(_shares(rows), at_least_one=True)[0]}


def choose(rows: Rows, share: float) -> Mask:
    """Choose the rows whose share of the top score is >= ``share``, and the top-ranked row of every source."""
    chosen: Mask = (_shares(rows) >= share) | (rows.rank == 1)
    return chosen


def _shares(rows: Rows) -> Values:
    """Return the share of each row; 0 where all scores of a source are the lowest of the pair."""
    low = np.full(rows.pair.max(initial=-1) + 1, np.inf)
    np.minimum.at(low, rows.pair, rows.score)
    above = rows.score - low[rows.pair]
    top = rows.best(above)
    shares: Values = above / np.where(top > 0, top, 1)
    return shares
