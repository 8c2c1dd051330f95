"""Links are the targets whose score reaches one threshold.

The only rule that may decide no link at all for a source: a score has a meaning of its own here.
"""

from __future__ import annotations

from abcdlink.linking.cutoffs.rows import Mask, Rows, Truth


def fit(rows: Rows, truth: Truth) -> dict[str, float]:
    """Return the threshold with the highest F1."""
    return {"threshold": truth.best_threshold(rows.score, at_least_one=False)[0]}


def choose(rows: Rows, threshold: float) -> Mask:
    """Choose the rows with score >= threshold."""
    chosen: Mask = rows.score >= threshold
    return chosen
