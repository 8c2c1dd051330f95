"""Percentile intervals by resampling whole units (source sentences, pairs) whose figures are sums over units."""

from __future__ import annotations

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


def resampled(by_unit: Floats | Counts, seed: int = 0, resamples: int = RESAMPLES) -> Iterator[Floats]:
    """Yield the sums over units of each resample, in chunks of shape (resamples of the chunk, ...).

    Args:
        by_unit: what each unit adds to the sums, shape (units, ...).
        seed: of the resampling.
        resamples: how often as many units as there are are drawn with replacement.
    """
    import numpy as np

    units = len(by_unit)
    generator = np.random.default_rng(seed)
    size = max(1, CHUNK_CELLS // units)
    # Sums of counts stay below 2^53, so that float arithmetic (and its fast matrix product) is exact.
    values = np.asarray(by_unit, dtype=np.float64)
    for start in range(0, resamples, size):
        weights = generator.multinomial(units, np.full(units, 1 / units), size=min(size, resamples - start))
        yield np.asarray(np.tensordot(weights.astype(np.float64), values, axes=1), dtype=np.float64)


def interval(values: Floats) -> tuple[float, float] | None:
    """Return the 95 % percentile interval of resampled values; ``None`` when none of them is a number."""
    import numpy as np

    defined = values[~np.isnan(values)]
    if not len(defined):
        return None
    low, high = np.quantile(defined, [0.025, 0.975])
    return float(low), float(high)
