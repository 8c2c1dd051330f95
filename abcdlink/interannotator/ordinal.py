"""Agreement of any number of people on values of a scale."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from abcdlink.interannotator.multiple import Interval

RESAMPLES = 1_000
Rated = TypeVar("Rated", bound=Hashable)


def ordinal_alpha(by_rater: Sequence[Mapping[Rated, int]], scale: range) -> tuple[float | None, Interval | None]:
    """Return Krippendorff's alpha for ordinal values and its 95 % interval; ``None`` where only one value was given.

    ``by_rater``: for each rater, what was rated -> the value, of the ``scale``. The interval resamples what was rated.
    """
    units = list(dict.fromkeys(rated for values in by_rater for rated in values))
    counts = np.zeros((len(units), len(scale)), int)
    for values in by_rater:
        for rated, value in values.items():
            counts[units.index(rated), value - scale.start] += 1
    draws = np.random.default_rng(0).integers(0, len(units), (RESAMPLES, len(units)))
    drawn = [found for draw in draws if (found := _alpha_of(counts[draw])) is not None]
    interval = tuple(map(float, np.percentile(drawn, (2.5, 97.5)))) if drawn else None
    return _alpha_of(counts), interval  # type: ignore[return-value]


def _alpha_of(counts: NDArray[np.int64]) -> float | None:
    from krippendorff import alpha

    twice = counts[counts.sum(axis=1) > 1]
    if (twice.sum(axis=0) > 0).sum() < 2:  # noqa: PLR2004
        return None
    return float(alpha(value_counts=twice, level_of_measurement="ordinal"))
