"""The rules that decide how many of a source's ranked targets are links, and how each is fitted.

For the paper's score, every rule but ``threshold`` gives each source a link. If all sources count,
a source may have none: ``threshold`` and ``expected-f1`` decide that themselves; the others keep only sources whose
best score reaches a second threshold (``choose_with_least``).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from abcdlink.linking.records import Aim
from abcdlink.linking.rows import Mask, Rows, Truth, Values


def fit_threshold(rows: Rows, truth: Truth) -> dict[str, float]:
    """Return the threshold with the highest F1."""
    return {"threshold": truth.best_threshold(rows.score, at_least_one=False)[0]}


def choose_threshold(rows: Rows, threshold: float) -> Mask:
    """Choose the rows with score >= threshold.

    Links are the targets whose score reaches one threshold. A source may have none, whatever the aim.
    """
    chosen: Mask = rows.score >= threshold
    return chosen


LEAST = "least"


def fit_least(rows: Rows, truth: Truth, chosen: Mask) -> dict[str, float]:
    """Return the best score that a source must reach to have any link, for the highest F1 of the rows chosen so far."""
    best = rows.best(rows.score)
    return {LEAST: truth.best_threshold(np.where(chosen, best, -np.inf), at_least_one=False)[0]}


def choose_with_least(rows: Rows, chosen: Mask, least: float) -> Mask:
    """Keep the chosen rows of the sources whose best score reaches ``least``; the other sources link to nothing."""
    return chosen & (rows.best(rows.score) >= least)


def fit_share(rows: Rows, truth: Truth) -> dict[str, float]:
    """Return the share with the highest F1."""
    return {"share": truth.best_threshold(_shares(rows), at_least_one=True)[0]}


def choose_share(rows: Rows, share: float) -> Mask:
    """Choose the rows whose share of the top score is >= ``share``, and the top-ranked row of every source.

    Scores are measured from the lowest score of the pair, since cosines and fused scores may be negative:
    share = (s - low) / (top - low). If the lowest is 0, as for lexical scores, this is s / top.
    """
    chosen: Mask = (_shares(rows) >= share) | (rows.rank == 1)
    return chosen


def _shares(rows: Rows) -> Values:
    """Return the share of each row; 0 if all scores of a source are the lowest of the pair."""
    low = np.full(rows.pair.max(initial=-1) + 1, np.inf)
    np.minimum.at(low, rows.pair, rows.score)
    above = rows.score - low[rows.pair]
    top = rows.best(above)
    shares: Values = above / np.where(top > 0, top, 1)
    return shares


MOST = 10
"""Largest n to try."""


def fit_gap(rows: Rows, truth: Truth) -> dict[str, float]:
    """Return the n from 1 to 10 with the highest F1, the smallest on a tie."""
    scores = [truth.f1(choose_gap(rows, n)) for n in range(1, MOST + 1)]
    return {"first": float(1 + int(np.argmax(scores)))}


def choose_gap(rows: Rows, first: float) -> Mask:
    """Choose the rows above the largest gap below the first ``first`` ranks of their source.

    Links are the targets above the largest gap between consecutive ranked scores. Only the gaps below the first n
    targets count, so that a drop at the end of a long list is not a cut:

    k = argmax over k <= n of s_k - s_(k+1), the smallest k on a tie.
    """
    below = np.append(rows.score[1:], np.nan)
    # The last target of a source has no gap below it.
    gap = np.where((rows.rank <= first) & (rows.rank < rows.size), rows.score - below, -np.inf)
    widest = (gap == rows.best(gap)) & (gap > -np.inf)
    k = rows.over_source(np.minimum, np.where(widest, rows.rank, np.inf).astype(np.float64))
    return rows.rank <= np.where(np.isfinite(k), k, 1)


TEMPERATURES = (0.35, 0.5, 0.7, 1.0, 1.4)
"""Temperatures to try, in standard deviations of all scores."""
WEIGHTS = (0.0, 0.25, 0.5, 1.0)


def fit_softmax(rows: Rows, truth: Truth) -> dict[str, float]:
    """Return the temperature, the weight and the threshold with the highest F1."""
    spread = float(rows.score.std()) or 1.0
    found: list[tuple[float, dict[str, float]]] = []
    for temperature in (share * spread for share in TEMPERATURES):
        logs = log_two_way(rows, rows.score / temperature)
        for weight in WEIGHTS:
            threshold, f1 = truth.best_threshold(_p(*logs, weight), at_least_one=True)
            found.append((f1, {"temperature": temperature, "weight": weight, "threshold": threshold}))
    return max(found, key=lambda one: one[0])[1]


def choose_softmax(rows: Rows, temperature: float, weight: float, threshold: float) -> Mask:
    """Choose the rows with p >= threshold, and the top-ranked row of every source.

    Links are targets that are likely in both directions:

    p = softmax of s / T over the targets of the source, times the power w of the softmax of s / T over the
    sources of the target: with w = 1 it is near 1 only if both choose each other, with w = 0 the sources
    do not compete. Temperature T, weight w and threshold of p are fitted. The two-way (dual) softmax is
    from Cheng et al., "Improving Video-Text Retrieval by Multi-Stream Corpus Alignment and Dual Softmax
    Loss" (2021); the weight is ours, since most source sentences of a document have no link and yet compete.
    """
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
    return np.exp(over_targets + weight * over_sources)


INTERCEPT = "intercept"
TEMPERATURE = 0.5
"""Temperature of the two-way softmax, in standard deviations of the pair's scores."""
TINY = 1e-9


def fit_expected_f1(rows: Rows, truth: Truth, aim: Aim) -> dict[str, float]:
    """Return the coefficients of a logistic regression, fitted on the sources that count for the objective."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    named = _features(rows)
    if aim is Aim.ALL_SOURCES:
        named |= _features_of_source(rows)
    features = np.column_stack([values[truth.counted] for values in named.values()])
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)).fit(features, truth.hit[truth.counted])
    scaler, regression = model[0], model[-1]
    slopes = regression.coef_[0] / scaler.scale_
    intercept = regression.intercept_[0] - (slopes * scaler.mean_).sum()
    return {INTERCEPT: float(intercept), **dict(zip(named, slopes.tolist(), strict=True))}


def choose_expected_f1(rows: Rows, p: Values, aim: Aim) -> Mask:
    """Choose the first k targets of each source, for the k with the highest expected F1.

    With p_i the probability that the target of rank i is linked, and the sum over all targets of the source:

        F(k) = 2 (p_1 + ... + p_k) / (k + max(1, sum of p)),  k >= 1

    the smallest k on a tie (after Nan Ye et al., "Optimizing F-measure: A Tale of Two Approaches",
    2012, and Lipton et al., "Optimal Thresholding of Classifiers to Maximize F1 Measure", 2014).

    If all sources count, a source without links that is given none counts as F1 = 1. It has none with
    probability P = (1 - p_1) ... (1 - p_n), as if targets were independent: k = 0 where P > F(k) for every k, in which
    the sum of p is divided by 1 - P, as then the source has a link.

    Args:
        rows: the rankings.
        p: the probabilities, see ``link_probabilities``.
        aim: whether a source may have no link.
    """
    links = rows.over_source(np.add, p)
    none: Values = np.zeros(len(rows))
    if aim is Aim.ALL_SOURCES:
        none = np.exp(rows.over_source(np.add, np.log1p(-np.minimum(p, 1 - TINY))))
        links = links / np.maximum(1 - none, TINY)
    expected = 2 * rows.running_total(p) / (rows.rank + np.maximum(1, links))
    highest = rows.best(expected)
    # The last bits of a sum depend on the rows before it in the table.
    best = expected >= highest - TINY
    k = rows.over_source(np.minimum, np.where(best, rows.rank, np.inf).astype(np.float64))
    return (rows.rank <= k) & (highest >= none)


def link_probabilities(rows: Rows, coefficients: Mapping[str, float]) -> Values:
    """Return the probability that each row is a link: as fitted, or the scores if nothing had to be fitted."""
    if not coefficients:
        scores: Values = np.clip(rows.score, 0, 1)
        return scores
    from scipy.special import expit

    logit = np.full(len(rows), coefficients[INTERCEPT])
    for name, values in (_features(rows) | _features_of_source(rows)).items():
        logit += coefficients.get(name, 0) * values
    p: Values = expit(logit)
    return p


def _features(rows: Rows) -> dict[str, Values]:
    """Return the features of the probability; only ``score`` changes with the unit of the scores."""
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


def _features_of_source(rows: Rows) -> dict[str, Values]:
    """Return features that separate sources with links from others: the best score and how much it stands out."""
    z = _z_of_pair(rows)
    second = rows.best(np.where(rows.rank == 2, z, -np.inf))  # noqa: PLR2004
    best = rows.best(z)
    return {
        "source_best_score": rows.best(rows.score),
        "source_best_z": best,
        "source_gap": np.where(np.isfinite(second), best - second, 0.0),
    }


def _z_of_pair(rows: Rows) -> Values:
    """Return (score - mean) / standard deviation over all scores of the pair; 0 if all are equal."""
    counts = np.bincount(rows.pair)
    centred = rows.score - (np.bincount(rows.pair, rows.score) / counts)[rows.pair]
    spread = np.sqrt(np.bincount(rows.pair, centred**2) / counts)[rows.pair]
    z: Values = centred / np.where(spread > TINY, spread, 1)
    return z
