"""Chance-corrected agreement on two labels, from two-by-two tables, with bootstrap intervals.

A table counts candidates by what a pair of annotators said:
``[both Link, only the first, only the second, neither]``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Counts = NDArray[np.int64]

RESAMPLES = 10_000
CHUNK_CELLS = 4_000_000
"""Weights held at once while resampling: 32 MB."""


def cohen_kappa(table: Counts) -> float:
    """Return Cohen's kappa (1960) of one table with both labels in it, by scikit-learn."""
    from sklearn.metrics import cohen_kappa_score

    return float(cohen_kappa_score([1, 1, 0, 0], [1, 0, 1, 0], sample_weight=table))


def gwet_ac1(tables: Floats | Counts) -> Floats:
    """Return Gwet's AC1 (2008) of tables of shape (..., 4).

    AC1 = (p_o - p_e) / (1 - p_e) with p_e = 2 q (1 - q), where q is the mean share of Link.
    """
    link = _link_share(tables)
    chance = 2 * link * (1 - link)
    ac1: Floats = (observed_agreement(tables) - chance) / (1 - chance)
    return ac1


def observed_agreement(tables: Floats | Counts) -> Floats:
    """Return the share of candidates with the same label twice, for tables of shape (..., 4)."""
    share: Floats = (tables[..., 0] + tables[..., 3]) / tables.sum(axis=-1)
    return share


def _link_share(tables: Floats | Counts) -> Floats:
    """Return the share of Link among both annotators' labels, for tables of shape (..., 4)."""
    share: Floats = (2 * tables[..., 0] + tables[..., 1] + tables[..., 2]) / (2 * tables.sum(axis=-1))
    return share


def kappas(tables: Floats | Counts) -> Floats:
    """Return Cohen's kappa of many tables (..., 4) at once; NaN where only one label occurs.

    The same as ``cohen_kappa``, which cannot take the 10,000 tables of a bootstrap.
    """
    import numpy as np

    total = tables.sum(axis=-1)
    first = (tables[..., 0] + tables[..., 1]) / total
    second = (tables[..., 0] + tables[..., 2]) / total
    chance = first * second + (1 - first) * (1 - second)
    with np.errstate(invalid="ignore", divide="ignore"):
        result: Floats = (observed_agreement(tables) - chance) / (1 - chance)
    return result


def kappa_interval(by_source: Counts, seed: int = 0, resamples: int = RESAMPLES) -> tuple[float, float] | None:
    """Return the 95 % percentile interval of the mean kappa, resampling source sentences.

    Candidates of one source are judged together and are not independent, so whole sources are drawn.

    Args:
        by_source: tables of shape (sources, pairs of annotators, 4).
        seed: of the resampling.
        resamples: how often to resample.

    Returns:
        ``None`` when no resample has a defined kappa.
    """
    import numpy as np

    means = np.concatenate([_mean_kappas(weights, by_source) for weights in _weights(len(by_source), seed, resamples)])
    means = means[~np.isnan(means)]
    if not len(means):
        return None
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def _weights(units: int, seed: int, resamples: int) -> Iterator[Counts]:
    """Yield how often each unit is drawn, in chunks of shape (resamples of the chunk, units)."""
    import numpy as np

    generator = np.random.default_rng(seed)
    size = max(1, CHUNK_CELLS // units)
    for start in range(0, resamples, size):
        yield generator.multinomial(units, np.full(units, 1 / units), size=min(size, resamples - start))


def _mean_kappas(weights: Counts, by_source: Counts) -> Floats:
    """Return the mean kappa over pairs of annotators for each resample; NaN where none is defined."""
    import numpy as np

    # Sums stay below 2^53, so that float arithmetic (and its fast matrix product) is exact.
    tables = np.tensordot(weights.astype(np.float64), by_source.astype(np.float64), axes=1)
    with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
        warnings.filterwarnings("ignore", "Mean of empty slice")
        means: Floats = np.nanmean(kappas(tables), axis=1)
    return means
