"""Agreement of two annotators on two labels, from two-by-two tables, with bootstrap intervals.

A table counts candidates by what a pair of annotators said:
``[both Link, only the first, only the second, neither]``.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

from abcdlink.interannotator.bootstrap import RESAMPLES, interval, resampled

if TYPE_CHECKING:
    from abcdlink.interannotator.bootstrap import Counts, Floats


class Values(NamedTuple):
    """The three measures of many tables, one value each; NaN where undefined."""

    kappa: Floats
    observed: Floats
    ac1: Floats


def cohen_kappa(table: Counts) -> float:
    """Return Cohen's kappa (1960) of one table with both labels in it, by scikit-learn."""
    from sklearn.metrics import cohen_kappa_score

    return float(cohen_kappa_score([1, 1, 0, 0], [1, 0, 1, 0], sample_weight=table))


def gwet_ac1(tables: Floats | Counts) -> Floats:
    """Return Gwet's AC1 (2008) of tables of shape (..., 4).

    AC1 = (p_o - p_e) / (1 - p_e) with p_e = 2 q (1 - q), where q is the mean share of Link.
    """
    link = (2 * tables[..., 0] + tables[..., 1] + tables[..., 2]) / (2 * tables.sum(axis=-1))
    chance = 2 * link * (1 - link)
    ac1: Floats = (observed_agreement(tables) - chance) / (1 - chance)
    return ac1


def observed_agreement(tables: Floats | Counts) -> Floats:
    """Return the share of candidates with the same label twice, for tables of shape (..., 4)."""
    share: Floats = (tables[..., 0] + tables[..., 3]) / tables.sum(axis=-1)
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


def mean_values(tables: Floats | Counts) -> Values:
    """Return the measures of sets of tables, shape (sets, pairs of annotators, 4), as means over the pairs.

    AC1 is left undefined where kappa is: with one label only there is nothing to agree on by chance.
    """
    import numpy as np

    with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
        warnings.filterwarnings("ignore", "Mean of empty slice")
        kappa = kappas(tables)
        ac1 = np.where(np.isnan(kappa), np.nan, gwet_ac1(tables))
        return Values(*(np.nanmean(one, axis=1) for one in (kappa, observed_agreement(tables), ac1)))


def resampled_values(by_source: Counts, seed: int = 0, resamples: int = RESAMPLES) -> Values:
    """Return the measures of each resample of source sentences.

    Candidates of one source are judged together and are not independent, so whole sources are drawn.

    Args:
        by_source: tables of shape (sources, pairs of annotators, 4).
        seed: of the resampling.
        resamples: how often to resample.
    """
    import numpy as np

    chunks = [mean_values(tables) for tables in resampled(by_source, seed, resamples)]
    return Values(*(np.concatenate(parts) for parts in zip(*chunks, strict=True)))


def kappa_interval(by_source: Counts, seed: int = 0, resamples: int = RESAMPLES) -> tuple[float, float] | None:
    """Return the 95 % interval of the mean kappa, by bootstrap over sources; see ``resampled_values``.

    Returns:
        ``None`` when no resample has a defined kappa.
    """
    return interval(resampled_values(by_source, seed, resamples).kappa)
