"""Bootstrap intervals of means and of figures made from sums: units are resampled with replacement, many times.

Percentile intervals at 95 %. The unit is a source sentence; as sources of one pair are not
independent, whole groups (pairs) can be drawn instead.

Means: resample i draws the units of row i of ``default_rng(SEED).integers(0, units, (resamples, units), int32)``.
How often each unit was drawn is counted, and one matrix product gives the means of many columns. Where few
units differ (scores of sources take few values: 9 to 18 over the differences of 5,172 sources), it is drawn at
once how often each kind of unit comes up: the same distribution, other draws, 100 times as fast.

Sums: whole units (source sentences, pairs) are resampled by multinomial weights.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.records import Record
from abcdlink.errors import InputError

RESAMPLES = 10_000
SEED = 0
NORMAL = 1.959964
"""Standard deviations on either side of a 95 % interval."""
DRAWS_AT_ONCE = 200_000
"""Drawn unit numbers, with their counts, held at once: as many as fit in a processor cache."""
CHUNK_CELLS = 4_000_000
"""Weights held at once while resampling sums: 32 MB."""
KEPT_CELLS = 1_000_000
"""Weights that are kept for other figures over as many units: 1 MB or 2, and 64 such sets at most."""
UNITS_PER_KIND = 20
"""From this many units for each kind of unit on, kinds are drawn."""
DECIMALS = 12
"""Means are rounded to this, so that the noise of sums does not decide on which side of 0 a mean is."""
PERCENTILES = (2.5, 97.5)
Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Values = Sequence[float] | NDArray[np.float64]


class Estimate(Record):
    """An estimate with its 95 % interval."""

    value: float
    low: float
    high: float

    @classmethod
    def around(cls, value: float, deviation: float, least: float, most: float) -> Estimate:
        """Return the normal interval around a value, cut to what is possible."""
        reach = NORMAL * deviation
        return cls(value=value, low=max(value - reach, least), high=min(value + reach, most))

    def __str__(self) -> str:
        return f"{self.value:.1%} (95 % interval {self.low:.1%} to {self.high:.1%})"


class MeanInterval(Record):
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float


class MeanDifference(MeanInterval):
    """The mean of a - b with its 95 % interval and two-sided p of no difference."""

    p: float


def bootstrap_mean(values: Values, groups: Sequence[Hashable] | None = None) -> MeanInterval:
    """Return the mean of the values with its interval.

    ``groups``: one label a value; then groups are drawn, each with all its values. Raises ``InputError`` when there is
    no value, or the labels are not as many as the values.
    """
    column = np.asarray(values, np.float64)
    low, high = np.percentile(_means(column[:, None], groups), PERCENTILES)
    return MeanInterval(mean=float(column.mean()), low=float(low), high=float(high))


def bootstrap_differences(
    differences: NDArray[np.float64], groups: Sequence[Hashable] | None = None
) -> list[MeanDifference]:
    """Return the mean of each column of paired differences; all columns share the draws.

    p = 2 min(share of resampled means <= 0, share >= 0), each share with one added to its count and to the number of
    resamples, so that p is never 0, and at most 1. ``differences``: shape (values, columns); ``groups``: one label a
    row, then groups are drawn, each with all its rows. Errors as ``bootstrap_mean``.
    """
    means = _means(differences, groups)
    low, high = np.percentile(means, PERCENTILES, axis=0)
    tails = np.minimum((means <= 0).sum(axis=0), (means >= 0).sum(axis=0))
    p = np.minimum(1.0, 2 * (tails + 1) / (len(means) + 1))
    columns = zip(differences.mean(axis=0).tolist(), low.tolist(), high.tolist(), p.tolist(), strict=True)
    return [MeanDifference(mean=mean, low=low, high=high, p=p) for mean, low, high, p in columns]


def _means(values: NDArray[np.float64], groups: Sequence[Hashable] | None) -> NDArray[np.float64]:
    """Return the mean of each resample of each column of values, shape (resamples, columns)."""
    if not len(values):
        msg = "there is no value to resample"
        raise InputError(msg, "score at least one source")
    labels = range(len(values)) if groups is None else groups
    if len(labels) != len(values):
        msg = f"{len(labels)} group labels do not fit {len(values)} values"
        raise InputError(msg, "give one label a value")
    number: dict[Hashable, int] = {}
    member = np.array([number.setdefault(label, len(number)) for label in labels])
    sizes: NDArray[np.float64] = np.bincount(member).astype(np.float64)
    totals: NDArray[np.float64] = np.zeros((len(number), values.shape[1]))
    np.add.at(totals, member, values)
    kinds, counts = _kinds(np.column_stack([totals, sizes]).round(DECIMALS))
    if UNITS_PER_KIND * len(kinds) <= len(sizes):
        totals, sizes, draws = kinds[:, :-1], kinds[:, -1], _draws_of_kinds(counts)
    else:
        draws = _draws(len(sizes))
    return np.concatenate([(drawn @ totals / (drawn @ sizes)[:, None]).round(DECIMALS) for drawn in draws])


def _chunks(count: int, most: int) -> Iterator[int]:
    """Yield the sizes of chunks of ``most``, or 1, that together are ``count``."""
    most = max(1, most)
    return (min(most, count - start) for start in range(0, count, most))


def _kinds(units: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the distinct rows, in the order in which they first come, and how many there are of each."""
    kinds, first, counts = np.unique(units, axis=0, return_index=True, return_counts=True)
    # A sorted order would flip with the sign of a difference, and its draws with it.
    order = np.argsort(first)
    return kinds[order], counts[order]


def _draws_of_kinds(counts: NDArray[np.intp]) -> Iterator[NDArray[np.float64]]:
    """Yield how often each kind of unit was drawn, shape (some resamples, kinds), until there are ``RESAMPLES``."""
    random = np.random.default_rng(SEED)
    for size in _chunks(RESAMPLES, DRAWS_AT_ONCE // len(counts)):
        yield random.multinomial(counts.sum(), counts / counts.sum(), size=size).astype(np.float64)


def _draws(units: int) -> Iterator[NDArray[np.float64]]:
    """Yield how often each unit was drawn, shape (some resamples, units), until there are ``RESAMPLES``."""
    random = np.random.default_rng(SEED)
    for rows in _chunks(RESAMPLES, DRAWS_AT_ONCE // units):
        drawn = random.integers(0, units, size=(rows, units), dtype=np.int32)
        places = drawn + units * np.arange(rows)[:, None]
        yield np.bincount(places.ravel(), minlength=rows * units).reshape(rows, units).astype(np.float64)


def resampled(by_unit: Floats | Counts, seed: int = SEED, resamples: int | None = None) -> Iterator[Floats]:
    """Yield the sums over units of each resample, in chunks of shape (resamples of the chunk, ...).

    ``by_unit``: what each unit adds to the sums, shape (units, ...); as many units as there are are drawn with
    replacement. ``resamples``: how often; ``None``: ``RESAMPLES`` times.
    """
    resamples = resamples or RESAMPLES
    units = len(by_unit)
    # Sums of counts stay below 2^53, so that float arithmetic (and its fast matrix product) is exact.
    values = np.asarray(by_unit, dtype=np.float64)
    kept = units * resamples <= KEPT_CELLS
    for weights in _kept_weights(units, seed, resamples) if kept else _weights(units, seed, resamples):
        yield np.asarray(np.tensordot(weights.astype(np.float64), values, axes=1), dtype=np.float64)


def _weights(units: int, seed: int, resamples: int) -> Iterator[Counts]:
    """Yield how often each unit was drawn, shape (some resamples, units), until there are ``resamples``."""
    generator = np.random.default_rng(seed)
    for size in _chunks(resamples, CHUNK_CELLS // units):
        yield generator.multinomial(units, np.full(units, 1 / units), size=size)


@lru_cache(maxsize=64)
def _kept_weights(units: int, seed: int, resamples: int) -> tuple[NDArray[np.unsignedinteger], ...]:
    """Return all of ``_weights``: a page has many figures over the same units, and drawing takes most of the time."""
    return tuple(weights.astype(np.min_scalar_type(units)) for weights in _weights(units, seed, resamples))


def interval(values: Floats) -> tuple[float, float] | None:
    """Return the 95 % percentile interval of resampled values; ``None`` when none of them is a number."""
    defined = values[~np.isnan(values)]
    if not len(defined):
        return None
    low, high = np.quantile(defined, [0.025, 0.975])
    return round(float(low), 12) + 0.0, round(float(high), 12) + 0.0  # no "-0.000" from rounding errors
