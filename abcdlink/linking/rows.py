"""A rankings table as arrays of numbers, for rules that look at all targets of a source, or all sources of a target."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.gold import ABSENT, Match
from abcdlink.linking.records import Aim

if TYPE_CHECKING:
    import pandas as pd


Values = NDArray[np.float64]
Mask = NDArray[np.bool_]
Number = TypeVar("Number", bound=np.generic)
SMALLEST = 1e-7
"""Probabilities closer to 0 or 1 are clipped to this, so that their log-odds are finite."""
GRID = 100
"""Number of values to try for a threshold."""


class Rows:
    """The rows of a rankings table, grouped by source, best first.

    All arrays have shape (rows,). ``log_odds``: whether the scores are probabilities, to be turned into log-odds.
    ``order``: position of each row in the table; ``score``: as there, or its log-odds; ``rank``: among the targets of
    the source, from 1; ``source`` and ``target``: number of the (pair, sentence); ``size``: number of targets of the
    source.
    """

    def __init__(self, rankings: pd.DataFrame, *, log_odds: bool = False) -> None:
        import pandas as pd
        from scipy.special import logit

        pair, source, target = (
            pd.Categorical(rankings[name]).codes.astype(np.int64) for name in ("pair", "source", "target")
        )
        wide, deep = source.max(initial=0) + 1, target.max(initial=0) + 1
        owner = pair * wide + source
        self.order = np.lexsort((rankings["rank"].to_numpy(), owner))
        self.score = rankings["score"].to_numpy(np.float64)[self.order]
        if log_odds:
            self.score = logit(np.clip(self.score, SMALLEST, 1 - SMALLEST))
        self.source, sizes = _numbered(owner[self.order])
        self.target, _ = _numbered((pair * deep + target)[self.order])
        self.pair, _ = _numbered(pair[self.order])
        self.size = sizes[self.source]
        self._starts = np.cumsum(sizes) - sizes
        self.rank = np.arange(len(owner)) - self._starts[self.source] + 1

    def __len__(self) -> int:
        return len(self.order)

    def best(self, values: Values) -> Values:
        """Return, in each row, the highest value of its source."""
        return self.over_source(np.maximum, values)

    def best_of_target(self, values: Values) -> Values:
        """Return, in each row, the highest value of its target over all sources of the pair."""
        highest = np.full(self.target.max(initial=-1) + 1, -np.inf)
        np.maximum.at(highest, self.target, values)
        return highest[self.target]

    def over_source(self, reduce: np.ufunc, values: Values) -> Values:
        """Return, in each row, the result of ``reduce`` (such as ``np.add``) over the rows of its source."""
        return reduce.reduceat(values, self._starts)[self.source] if len(self) else values

    def running_total(self, values: Values) -> Values:
        """Return the sum of the values of this row and those ranked above it for the same source."""
        total = np.cumsum(values)
        before = (total - values)[self._starts]
        return total - before[self.source] if len(self) else total

    def in_table(self, values: NDArray[Number]) -> NDArray[Number]:
        """Return one value for each of these rows as one for each row of the table."""
        placed = np.empty_like(values)
        placed[self.order] = values
        return placed


class Truth:
    """Which rows are gold links, and how good a choice of rows is.

    ``aim``: which sources count, and which F1 is used.
    """

    def __init__(self, rows: Rows, match: Match, aim: Aim = Aim.PAPER) -> None:
        owner = match.owner[rows.order]
        counts = np.append(match.gold.link_counts, 0)
        self.counted: Mask = (owner != ABSENT) & ((counts[owner] > 0) | (aim is Aim.ALL_SOURCES))
        """Whether the row's source counts: one with links, or any annotated one; shape (rows,)."""
        self.hit: Mask = match.hit[rows.order]
        self._aim = aim
        self._first = (rows.rank == 1)[self.counted]
        # The sources that count, renumbered, since they are iterated over a hundred times.
        numbers, self._owner = np.unique(owner[self.counted], return_inverse=True)
        self._links = counts[numbers]
        self._hit = self.hit[self.counted]

    def f1(self, chosen: Mask) -> float:
        """Return the F1 of a mask over the rows.

        For the paper's score, this is the mean over sources with links; for all sources, the F1 over their links.
        """
        return self._f1(chosen[self.counted])

    def best_threshold(self, values: Values, *, at_least_one: bool) -> tuple[float, float]:
        """Return the threshold t for which choosing all rows with value >= t gives the highest F1, and this F1.

        It tries quantiles of the gold links' values and takes the highest on a tie. ``values``: one per row, minus
        infinity if it is never chosen; ``at_least_one``: whether the top target of each source always is.
        """
        mine = values[self.counted]
        hits = mine[self._hit & np.isfinite(mine)]
        tried = np.unique(np.quantile(hits if len(hits) else mine[np.isfinite(mine)], np.linspace(0, 1, GRID)))[::-1]
        scores = [self._f1((mine >= value) | (self._first & at_least_one)) for value in tried]
        best = int(np.argmax(scores))
        return float(tried[best]), scores[best]

    def _f1(self, chosen: Mask) -> float:
        if self._aim is Aim.ALL_SOURCES:
            return float(2 * (chosen & self._hit).sum() / max(chosen.sum() + self._links.sum(), 1))
        hits = np.bincount(self._owner[chosen & self._hit], minlength=len(self._links))
        decided = np.bincount(self._owner[chosen], minlength=len(self._links))
        return float((2 * hits / (decided + self._links)).mean())


def _numbered(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of each key, from 0, in increasing order of keys, and how often each key occurs."""
    _, numbers, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return numbers, counts
