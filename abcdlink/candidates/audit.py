"""Unbiased estimates from an audit: how many links there are, and how many of them were found.

What was taken by probability is judged whole; every other pair of sentences is judged with a known chance. A found
link counts 1 / chance (Horvitz and Thompson, "A Generalization of Sampling Without Replacement From a Finite Universe",
1952), whether or not the probabilities are right. How much the weights of links scatter is computed from the
probabilities, as few links are found at random, and from those that are found, where these scatter more; intervals are
those of a Poisson number with that scatter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from abcdlink.corpus.records import Record
from abcdlink.errors import InputError
from abcdlink.statistics import Estimate

if TYPE_CHECKING:
    from abcdlink.linking.cutoffs.rows import Mask, Values

DRAWS = 20_000
"""Of the distribution of a ratio."""
JEFFREYS = 0.5
"""So many links more than were found at random give the upper end of an interval of their number."""


class AuditResult(Record):
    """What the judgments so far say.

    Attributes:
        links: estimated links of all pairs of sentences that could have been shown.
        found: links that people found.
        recall: share of the links that they found.
        judged: candidates with a label: taken by probability, and at random.
        found_at_random: of the found links, those of the random candidates.
    """

    links: Estimate
    found: int
    recall: Estimate
    judged: tuple[int, int]
    found_at_random: int


class Audited:
    """Judged candidates, with the chance that each had.

    Args:
        linked: whether people called it a link, shape (judged,).
        chance: of being judged; 1 for what was taken by probability; same shape.
        dispersion: of the estimate of what was not taken, see ``Selection.dispersion``.
        shown: how many candidates were to be judged: by probability, and at random. Those that have a label stand for
            those that have none; ``None``: all have one.

    Raises:
        InputError: when nothing was judged at random.
    """

    def __init__(self, linked: Mask, chance: Values, dispersion: float, shown: tuple[int, int] | None = None) -> None:
        self.linked, self._random, self._dispersion = linked, chance < 1, dispersion
        self.judged = int((~self._random).sum()), int(self._random.sum())
        if not self.judged[1]:
            msg = "no candidate was judged at random, so that nothing can be said of what was not shown"
            raise InputError(msg, "give a part of the budget to the audit")
        answered = [
            done / wanted if wanted else 1.0 for done, wanted in zip(self.judged, shown or self.judged, strict=True)
        ]
        self._weight = 1 / np.where(self._random, chance * answered[1], answered[0] or 1.0)
        found = self._weight[self._random & linked]
        if len(found):
            self._dispersion = max(dispersion, float((found * (found - 1)).sum() / found.sum()))

    def result(self) -> AuditResult:
        """Return the estimates of all links, and of the share that was found."""
        from scipy.stats import gamma

        found = int(self.linked.sum())
        taken, missed = self._links(self.linked)
        # Links found at random, as if of one weight: a Poisson number.
        count, scale = missed / self._dispersion, self._dispersion
        low = float(gamma.ppf(0.025, count, scale=scale)) if count else 0.0
        high = float(gamma.ppf(0.975, count + JEFFREYS, scale=scale))
        value = max(taken + missed, float(found))
        links = Estimate(value=value, low=max(taken + low, float(found)), high=max(taken + high, value))
        recall = Estimate(
            **{
                name: found / of if of else 1.0
                for name, of in (("value", links.value), ("low", links.high), ("high", links.low))
            }
        )
        at_random = int(self.linked[self._random].sum())
        return AuditResult(links=links, found=found, recall=recall, judged=self.judged, found_at_random=at_random)

    def recall_of(self, decided: Mask) -> Estimate:
        """Estimate the recall of an approach.

        Args:
            decided: whether the approach decided that a judged candidate is a link, shape (judged,).
        """
        draw, scale = np.random.default_rng(0), self._dispersion
        parts = [self._links(part) for part in (self.linked & decided, self.linked & ~decided)]

        def drawn(*more: float) -> Values:
            hits, misses = (
                taken + draw.gamma(missed / scale + one, scale, DRAWS)
                for (taken, missed), one in zip(parts, more, strict=True)
            )
            shares: Values = hits / np.maximum(hits + misses, 1e-9)
            return shares

        low = float(np.quantile(drawn(0, JEFFREYS), 0.025))
        high = float(np.quantile(drawn(JEFFREYS, 0), 0.975))
        total = sum(map(sum, parts))
        value = sum(parts[0]) / total if total else 1.0
        return Estimate(value=value, low=min(low, value), high=max(high, value))

    def _links(self, part: Mask) -> tuple[float, float]:
        """Return the estimated links among some judged ones: of those taken by probability, and of the others."""
        return float(self._weight[part & ~self._random].sum()), float(self._weight[part & self._random].sum())
