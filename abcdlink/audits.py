"""What judged samples say about everything that nobody judged.

Candidates are drawn with known chances (Poisson sampling). There are two designs.

``Audited``: all that was taken by probability is judged; every other pair of sentences is judged with a known chance.
A found link counts 1 / chance (Horvitz and Thompson, "A Generalization of Sampling Without Replacement From a Finite
Universe", 1952), whether or not the probabilities are right. How much the weights of links scatter is computed from
the probabilities, as few links are found at random, and from those that are found, where these scatter more; intervals
are those of a Poisson number with that scatter.

``draw`` and ``estimate``: labels of a corpus that nobody judges, at one threshold. From the threshold up all candidates
have the same chance, so precision is a plain share. Below it the chance grows with sqrt(p (1 - p)), the standard
deviation of the answer if the linker's probability p is right (Neyman allocation): links are expected there, and they
are few among very many. Links below the threshold are estimated by the difference estimator: the sum of all
probabilities there, plus (answer - p) / chance over the judged ones. It is unbiased whether or not the probabilities
are right, and its variance is the sum of (answer - p)^2 (1 - chance) / chance^2 (Saerndal, Swensson and Wretman, "Model
Assisted Survey Sampling", 1992, chapters 3 and 6).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from abcdlink.corpus.records import Record
from abcdlink.errors import InputError
from abcdlink.judgments import AtPlace, Place
from abcdlink.statistics import Estimate

if TYPE_CHECKING:
    import pandas as pd

    from abcdlink.linking.rows import Mask, Values

DRAWS = 20_000
"""Draws from a distribution, for its interval."""
JEFFREYS = 0.5
"""Added to the number of links found at random, for the upper end of its interval."""
ABOVE = 0.5
"""Share of the judged candidates that are from the threshold up."""
SUREST = 0.001
"""Probabilities are taken to be at least this uncertain: else one link among hopeless candidates would count for
thousands."""
TINY = 1e-9


class AuditResult(Record):
    """What the judgments so far say.

    ``links``: an estimate for all pairs of sentences that could have been shown; ``recall``: share of these that people
    found. ``found_at_random``: of the found links, those of the random candidates.
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
            msg = "no candidate was judged at random, so nothing can be said about what was not shown"
            raise InputError(msg, "spend part of the budget on the audit")
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

        ``decided``: whether it decided that a judged candidate is a link, shape (judged,).
        """
        draw, scale = np.random.default_rng(0), self._dispersion
        parts = [self._links(part) for part in (self.linked & decided, self.linked & ~decided)]

        def drawn(*more: float) -> Values:
            hits, misses = (
                taken + draw.gamma(missed / scale + one, scale, DRAWS)
                for (taken, missed), one in zip(parts, more, strict=True)
            )
            shares: Values = hits / np.maximum(hits + misses, TINY)
            return shares

        low = float(np.quantile(drawn(0, JEFFREYS), 0.025))
        high = float(np.quantile(drawn(JEFFREYS, 0), 0.975))
        total = sum(map(sum, parts))
        value = sum(parts[0]) / total if total else 1.0
        return Estimate(value=value, low=min(low, value), high=max(high, value))

    def _links(self, part: Mask) -> tuple[float, float]:
        """Return the estimated links among some judged ones: of those taken by probability, and of the others."""
        return float(self._weight[part & ~self._random].sum()), float(self._weight[part & self._random].sum())


class AuditedCandidate(AtPlace):
    """A candidate that people judge. ``chance``: of all candidates of its kind to be among them."""

    probability: float
    chance: float


class Audit(Record):
    """What people's judgments say about labels, at one threshold.

    ``precision``: share of the ``links`` from the threshold up that people call links; ``recall``: share of
    ``all_links`` of the corpus (an estimate) that these are. ``judged``: candidates from the threshold up and below;
    ``missing``: drawn candidates without a label; the others stand for them.
    """

    threshold: float
    links: int
    precision: Estimate
    recall: Estimate
    all_links: Estimate
    judged: tuple[int, int]
    missing: int


def draw(
    tables: Callable[[], Iterator[pd.DataFrame]], threshold: float, links: int, wanted: int, seed: int
) -> list[AuditedCandidate]:
    """Draw about ``wanted`` candidates for people from the kept tables of labels, half of them links.

    Links are the candidates from the threshold up; there are ``links`` of them. ``tables`` gives the tables again, one
    at a time; the same tables and seed give the same candidates.
    """
    above = min(1.0, ABOVE * wanted / max(links, 1))
    rate = _rate(tables, threshold, wanted - above * links)
    drawn: list[AuditedCandidate] = []
    for part, table in enumerate(tables()):
        probability, kept = table["probability"].to_numpy(), table["chance"].to_numpy()
        # The chance to be kept in the table is part of the chance to be drawn.
        below = np.minimum(rate * _deviation(table), kept)
        chance = np.where(probability >= threshold, above, below)
        chosen = table[np.random.default_rng((seed, part)).random(len(table)) * kept < chance]
        rows = zip(chosen["pair"], chosen["source"], chosen["target"], chosen["probability"], strict=True)
        chances = chance[chosen.index.to_numpy()]
        drawn += [
            AuditedCandidate(pair=pair, source=source, target=target, probability=p, chance=float(of))
            for (pair, source, target, p), of in zip(rows, chances, strict=True)
        ]
    return drawn


def _rate(tables: Callable[[], Iterator[pd.DataFrame]], threshold: float, wanted: float) -> float:
    """Return the factor of ``_deviation`` by which about ``wanted`` kept rows below the threshold are drawn.

    No row has more than the chance to be kept. Where that is the limit, the others are drawn more often instead.
    """
    rate = 0.0
    while True:
        certain, weight, heaviest = 0, 0.0, 0.0
        for table in tables():
            low = table[table["probability"] < threshold]
            each = (_deviation(low) / low["chance"]).to_numpy()
            rest = each[rate * each < 1]
            certain += len(each) - len(rest)
            weight, heaviest = weight + float(rest.sum()), max(heaviest, float(rest.max(initial=0)))
        higher = max(0.0, wanted - certain) / max(weight, TINY)
        if higher <= 1.01 * rate or not weight:
            return rate
        rate = higher
        if rate * heaviest <= 1:
            return rate


def _deviation(table: pd.DataFrame) -> pd.Series[float]:
    p = table["probability"].clip(SUREST, 1 - SUREST)
    return (p * (1 - p)) ** 0.5


def estimate(
    drawn: Iterable[AuditedCandidate],
    said: Mapping[Place, bool],
    threshold: float,
    links: int,
    expected_below: float,
) -> Audit:
    """Estimate precision and recall.

    Intervals: of precision, Jeffreys' (Beta); of recall, from draws of that distribution and of a Gamma distribution
    with the mean and variance of the estimated links below the threshold. As few links are found there, or none, their
    number may be greater by half a link, which counts as much as one that the linker's probabilities promise.

    Args:
        drawn: the candidates that people were to judge.
        said: those that have a label, and whether it is a link.
        threshold: candidates from this probability up are links.
        links: how many these are.
        expected_below: sum of the probabilities of all others.

    Raises:
        InputError: when none of the links, or none of the others, is judged.
    """
    every = list(drawn)
    above = [one for one in every if one.probability >= threshold]
    below = [one for one in every if one.probability < threshold]
    answers = [np.array([said[one.at] for one in part if one.at in said], float) for part in (above, below)]
    if not all(len(part) for part in answers):
        msg = "the judgments do not cover candidates above and below the threshold"
        raise InputError(msg, "have more candidates judged, or audit again, with another run key (--as)")
    right = float(answers[0].sum())
    asked = [one for one in below if one.at in said]
    # Judged ones stand for those that were drawn and have no label.
    chance = np.array([one.chance for one in asked]) * len(asked) / len(below)
    surprise = answers[1] - np.array([one.probability for one in asked])
    rest = max(expected_below + float((surprise / chance).sum()), float(answers[1].sum()), TINY)
    variance = max(float((surprise**2 * (1 - chance) / chance**2).sum()), TINY)

    random = np.random.default_rng(0)
    shares = random.beta(right + 0.5, len(answers[0]) - right + 0.5, DRAWS)
    rests = random.gamma(rest**2 / variance, variance / rest, DRAWS)
    likely = np.array([one.probability for one in asked]) / chance + TINY
    more = rests + random.gamma(JEFFREYS, np.average(1 / chance, weights=likely), DRAWS)
    found = links * shares
    share = right / len(answers[0])
    return Audit(
        threshold=threshold,
        links=links,
        precision=_estimate(share, shares, shares),
        recall=_estimate(links * share / (links * share + rest), found / (found + more), found / (found + rests)),
        all_links=_estimate(links * share + rest, found + rests, found + more),
        judged=(len(answers[0]), len(answers[1])),
        missing=len(every) - len(answers[0]) - len(answers[1]),
    )


def _estimate(value: float, low: Values, high: Values) -> Estimate:
    ends = float(np.quantile(low, 0.025)), float(np.quantile(high, 0.975))
    return Estimate(value=value, low=min(ends[0], value), high=max(ends[1], value))
