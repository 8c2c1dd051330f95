"""Whether probabilities of links mean what they say: expected links against links that are there."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from abcdlink.corpus.gold import ABSENT, Match
from abcdlink.corpus.records import Record

EDGES = (0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)
"""Of the bins: finer where most pairs of sentences are, as nearly all of these are no links."""


class ReliabilityBin(Record):
    """Pairs of sentences with about the same probability."""

    candidates: int
    expected: float = Field(description="their links by the probabilities")
    links: float = Field(description="their links in truth")


class Calibration(Record):
    """How probabilities and truth differ.

    ``error``: |expected links - links|, summed over the bins, as a share of all links; that is the expected
    calibration error (ECE; Naeini et al., "Obtaining Well Calibrated Probabilities Using Bayesian Binning", 2015)
    divided by the share of pairs of sentences that are links, which differs between corpora. 0 is perfect.
    """

    error: float
    expected: float
    links: float
    bins: tuple[ReliabilityBin, ...]


def calibration(
    probability: NDArray[np.float64], linked: NDArray[np.bool_], weight: NDArray[np.float64] | None = None
) -> Calibration:
    """Compare probabilities with the truth.

    Args:
        probability: of a link, shape (candidates,).
        linked: whether it is one, same shape.
        weight: how many candidates each stands for, as in a sample; one when ``None``.
    """
    weight = np.ones(len(probability)) if weight is None else weight
    place = np.clip(np.searchsorted(EDGES, probability, side="right") - 1, 0, len(EDGES) - 2)
    expected, links = (np.bincount(place, values, len(EDGES) - 1) for values in (weight * probability, weight * linked))
    bins = zip(np.bincount(place, minlength=len(EDGES) - 1).tolist(), expected, links, strict=True)
    return Calibration(
        error=float(np.abs(expected - links).sum() / max(links.sum(), 1)),
        expected=float(expected.sum()),
        links=float(links.sum()),
        bins=tuple(ReliabilityBin(candidates=n, expected=e, links=found) for n, e, found in bins),
    )


def calibration_of(match: Match, probability: NDArray[np.float64]) -> Calibration:
    """Compare the probabilities of a rankings table, laid over by gold links, on the annotated pairs."""
    known = match.owner != ABSENT
    return calibration(probability[known], match.hit[known])
