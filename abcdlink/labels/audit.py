"""An audit of labels: which candidates people judge, and what their judgments say of all.

Candidates are drawn with known chances (Poisson sampling). From the threshold up all have the same chance, so precision
is a plain share. Below it the chance grows with sqrt(p (1 - p)), the standard deviation of the answer if the linker's
probability p is right (Neyman allocation): links are expected there, and they are few among very many.

Links below the threshold are estimated by the difference estimator: the sum of all probabilities there, plus
(answer - p) / chance over the judged ones. It is unbiased whether or not the probabilities are right, and its variance
is the sum of (answer - p)^2 (1 - chance) / chance^2 (Saerndal, Swensson and Wretman, "Model Assisted Survey Sampling",
1992, chapters 3 and 6).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from abcdlink.corpus.records import Record
from abcdlink.errors import InputError
from abcdlink.judgments import Place
from abcdlink.statistics import Estimate

if TYPE_CHECKING:
    import pandas as pd

DRAWS = 20_000
"""Of the distributions of links above and below the threshold, for the interval of recall."""
ABOVE = 0.5
"""Share of the judged candidates that are from the threshold up."""
SUREST = 0.001
"""Linkers are not believed to be surer than this: else one link among hopeless candidates would count for thousands."""
TINY = 1e-9


class AuditedCandidate(Record):
    """A candidate that people judge. ``chance``: of all candidates of its kind to be among them."""

    pair: str
    source: str
    target: str
    probability: float
    chance: float

    @property
    def at(self) -> Place:
        """The candidate."""
        return self.pair, self.source, self.target


class Audit(Record):
    """What people's judgments say of labels, at one threshold.

    Attributes:
        threshold: candidates from this probability up are links.
        links: how many these are.
        precision: share of these that people call links.
        recall: share of all links of the corpus that these are.
        all_links: estimated number of links in the corpus.
        judged: judged candidates, from the threshold up and below.
        missing: drawn candidates without a label; the others stand for them.
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
    """Draw candidates for people from the kept tables of labels; about ``wanted``, half of them links.

    Args:
        tables: gives the tables again, one at a time.
        threshold: candidates from this probability up are links.
        links: how many these are.
        wanted: candidates.
        seed: of the choice; the same tables and seed give the same candidates.
    """
    weight = sum(float((_deviation(low) / low["chance"]).sum()) for low in _below(tables(), threshold))
    above = min(1.0, ABOVE * wanted / max(links, 1))
    per_weight = (wanted - above * links) / max(weight, TINY)
    drawn: list[AuditedCandidate] = []
    for part, table in enumerate(tables()):
        probability, kept = table["probability"].to_numpy(), table["chance"].to_numpy()
        # The chance to be kept in the table is part of the chance to be drawn.
        below = np.minimum(per_weight * _deviation(table), kept)
        chance = np.where(probability >= threshold, above, below)
        chosen = table[np.random.default_rng((seed, part)).random(len(table)) * kept < chance]
        rows = zip(chosen["pair"], chosen["source"], chosen["target"], chosen["probability"], strict=True)
        chances = chance[chosen.index.to_numpy()]
        drawn += [
            AuditedCandidate(pair=pair, source=source, target=target, probability=p, chance=float(of))
            for (pair, source, target, p), of in zip(rows, chances, strict=True)
        ]
    return drawn


def _below(tables: Iterable[pd.DataFrame], threshold: float) -> Iterator[pd.DataFrame]:
    return (table[table["probability"] < threshold] for table in tables)


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
    with the mean and variance of the estimated links below the threshold.

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
        raise InputError(msg, "have more candidates judged, or audit with a larger number")
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
    found = links * shares
    share = right / len(answers[0])
    return Audit(
        threshold=threshold,
        links=links,
        precision=_estimate(share, shares),
        recall=_estimate(links * share / (links * share + rest), found / (found + rests)),
        all_links=_estimate(links * share + rest, found + rests),
        judged=(len(answers[0]), len(answers[1])),
        missing=len(every) - len(answers[0]) - len(answers[1]),
    )


def _estimate(value: float, draws: np.typing.NDArray[np.float64]) -> Estimate:
    low, high = np.quantile(draws, (0.025, 0.975)).tolist()
    return Estimate(value=value, low=min(low, value), high=max(high, value))
