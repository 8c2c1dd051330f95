"""Links are the first k targets for the k with the highest expected F1; always one at least.

With p_i the probability that the target of rank i is linked, given that its source has any link, and
the sum over all targets of the source in the denominator:

    k = argmax over k >= 1 of 2 (p_1 + ... + p_k) / (k + max(1, sum of p))

the smallest k of equal ones (after Nan Ye et al., "Optimizing F-measure: A Tale of Two Approaches",
2012, and Lipton et al., "Optimal Thresholding of Classifiers to Maximize F1 Measure", 2014). A
retriever's scores become probabilities by a fitted logistic regression; those of a learned linker are
probabilities already and are taken as they are.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from abcdlink.linking.cutoffs.rows import Mask, Rows, Truth, Values
from abcdlink.linking.cutoffs.softmax import log_two_way

INTERCEPT = "intercept"
TEMPERATURE = 0.5
"""Of the two-way softmax, in standard deviations of the pair's scores."""
TINY = 1e-9


def fit(rows: Rows, truth: Truth) -> dict[str, float]:
    """Return the coefficients of a logistic regression, fitted on the sources with links."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    named = _features(rows)
    features = np.column_stack([values[truth.linked] for values in named.values()])
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)).fit(features, truth.hit[truth.linked])
    scaler, regression = model[0], model[-1]
    slopes = regression.coef_[0] / scaler.scale_
    intercept = regression.intercept_[0] - (slopes * scaler.mean_).sum()
    return {INTERCEPT: float(intercept), **dict(zip(named, slopes.tolist(), strict=True))}


def choose(rows: Rows, coefficients: Mapping[str, float]) -> Mask:
    """Choose the first k rows of each source.

    Args:
        rows: the rankings.
        coefficients: as fitted; none when the scores are probabilities already.
    """
    p = _probabilities(rows, coefficients) if coefficients else np.clip(rows.score, 0, 1)
    expected = 2 * rows.running_total(p) / (rows.rank + np.maximum(1, rows.over_source(np.add, p)))
    # Sums differ in their last bits with what stands before them in the table.
    best = expected >= rows.best(expected) - TINY
    k = rows.over_source(np.minimum, np.where(best, rows.rank, np.inf).astype(np.float64))
    chosen: Mask = rows.rank <= k
    return chosen


def _probabilities(rows: Rows, coefficients: Mapping[str, float]) -> Values:
    from scipy.special import expit

    logit = np.full(len(rows), coefficients[INTERCEPT])
    for name, values in _features(rows).items():
        logit += coefficients[name] * values
    p: Values = expit(logit)
    return p


def _features(rows: Rows) -> dict[str, Values]:
    """Return what the probability depends on; none but ``score`` changes with the unit of the scores."""
    z = _z_of_pair(rows)
    below_best_of_target = z - rows.best_of_target(z)
    over_targets, over_sources = log_two_way(rows, z / TEMPERATURE)
    return {
        "score": rows.score,
        "z_of_pair": z,
        "below_best_of_source": z - rows.best(z),
        "below_best_of_target": below_best_of_target,
        "best_of_target": (below_best_of_target == 0).astype(np.float64),
        "reciprocal_rank": 1 / rows.rank,
        "log_over_targets": over_targets,
        "log_over_sources": over_sources,
        "log_targets": np.log(rows.size),
    }


def _z_of_pair(rows: Rows) -> Values:
    """Return (score - mean) / standard deviation over all scores of the pair; 0 when all are alike."""
    counts = np.bincount(rows.pair)
    centred = rows.score - (np.bincount(rows.pair, rows.score) / counts)[rows.pair]
    spread = np.sqrt(np.bincount(rows.pair, centred**2) / counts)[rows.pair]
    z: Values = centred / np.where(spread > TINY, spread, 1)
    return z
