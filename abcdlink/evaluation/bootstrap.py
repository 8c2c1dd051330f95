"""Bootstrap intervals: the unit of evaluation is drawn anew, with replacement, many times.

Percentile intervals at 95 %. The unit is a source sentence; as sources of one pair are not
independent, whole groups (pairs) can be drawn instead.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.records import Record
from abcdlink.errors import InputError

RESAMPLES = 10_000
DRAWS_AT_ONCE = 2_000_000
"""Bounds the memory: this many 4-byte indices and as many 8-byte values are held at once."""

PERCENTILES = (2.5, 97.5)
Values = Sequence[float] | NDArray[np.float64]


class Interval(Record):
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float


class Difference(Record):
    """The mean of a - b with its 95 % interval and two-sided p of no difference."""

    mean: float
    low: float
    high: float
    p: float


def bootstrap_mean(
    values: Values, resamples: int = RESAMPLES, seed: int = 0, groups: Sequence[Hashable] | None = None
) -> Interval:
    """Return the mean of the values with its interval.

    ``groups``: one label a value; then groups are drawn, each with all its values.

    Raises:
        InputError: when there is no value, or the labels are not as many as the values.
    """
    means = _means(np.asarray(values, np.float64), resamples, seed, groups)
    low, high = np.percentile(means, PERCENTILES)
    return Interval(mean=float(np.mean(values)), low=float(low), high=float(high))


def bootstrap_difference(
    a: Values, b: Values, resamples: int = RESAMPLES, seed: int = 0, groups: Sequence[Hashable] | None = None
) -> Difference:
    """Return the mean paired difference a - b; ``a[i]`` and ``b[i]`` belong to the same unit.

    p = 2 min(share of resampled means <= 0, share >= 0), each share with one added to its count
    and to the number of resamples, so that p is never 0, and at most 1.

    Raises:
        InputError: when the two are not equally many, or as ``bootstrap_mean``.
    """
    if len(a) != len(b):
        msg = f"{len(a)} values cannot be compared with {len(b)} in pairs"
        raise InputError(msg, "compare scores of the same sources")
    differences = np.asarray(a, np.float64) - np.asarray(b, np.float64)
    means = _means(differences, resamples, seed, groups)
    low, high = np.percentile(means, PERCENTILES)
    tail = min(int((means <= 0).sum()), int((means >= 0).sum()))
    p = min(1.0, 2 * (tail + 1) / (resamples + 1))
    return Difference(mean=float(differences.mean()), low=float(low), high=float(high), p=p)


def _means(
    values: NDArray[np.float64], resamples: int, seed: int, groups: Sequence[Hashable] | None
) -> NDArray[np.float64]:
    """Return the mean of each resample."""
    if not len(values):
        msg = "there is no value to resample"
        raise InputError(msg, "score at least one source")
    if groups is None:
        draws = _draws(len(values), resamples, seed)
        return np.concatenate([values[drawn].mean(axis=1) for drawn in draws])
    if len(groups) != len(values):
        msg = f"{len(groups)} group labels do not fit {len(values)} values"
        raise InputError(msg, "give one label a value")
    number: dict[Hashable, int] = {}
    member = np.array([number.setdefault(label, len(number)) for label in groups])
    totals, sizes = np.bincount(member, values), np.bincount(member)
    draws = _draws(len(number), resamples, seed)
    return np.concatenate([totals[drawn].sum(axis=1) / sizes[drawn].sum(axis=1) for drawn in draws])


def _draws(units: int, resamples: int, seed: int) -> Iterator[NDArray[np.int32]]:
    """Yield drawn unit numbers, shape (some resamples, units), until there are ``resamples``."""
    random = np.random.default_rng(seed)
    rows = max(1, DRAWS_AT_ONCE // units)
    for start in range(0, resamples, rows):
        yield random.integers(0, units, size=(min(rows, resamples - start), units), dtype=np.int32)
