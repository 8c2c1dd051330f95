"""A benchmark's results on one approach, and the calibration of its probabilities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from abcdlink.corpus.gold import ABSENT, Match
from abcdlink.corpus.records import Record, with_new_names
from abcdlink.evaluation.scores import AllSources
from abcdlink.linking.records import Approach, Decision
from abcdlink.llm.records import Outcome, Usage

EDGES = (0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)
"""Of the bins: finer where most pairs of sentences are, as nearly all of these are not links."""


class ReliabilityBin(Record):
    """Pairs of sentences with about the same probability."""

    candidates: int
    expected: float = Field(description="their links by the probabilities")
    links: float = Field(description="their actual links")


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
    """Compare the probabilities of a link, shape (candidates,), with the truth.

    ``weight``: how many candidates each stands for, as in a sample; one when ``None``.
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


class ApproachResult(Record):
    """How one approach did on a benchmark: macro means over the answered sources, in fractions of 1.

    ``f1`` leaves out the sources that were not answered; ``f1_of_all`` counts them as wrong.
    ``fitted`` is empty where nothing was fitted, else it says in words on what. ``calibration``: of its probabilities,
    where it has some.
    """

    approach: Approach
    precision: float = Field(ge=0, le=1)
    recall: float = Field(ge=0, le=1)
    f1: float = Field(ge=0, le=1)
    sources: int = Field(ge=0, description="sources with links")
    answered: int = Field(ge=0, description="sources with links that could be answered")
    all_sources: AllSources
    interval: tuple[float, float] | None = Field(None, description="95 % interval of ``f1_of_all`` over sources")
    sampled_from: int = Field(0, ge=0, description="sources with links that these were drawn from; 0: none was drawn")
    seconds: float = Field(ge=0, description="time it took, including stored results of earlier runs")
    cost: float = Field(0.0, ge=0, description="money that an LLM's answers cost")
    pairs: float = Field(ge=0, description="pairs that took this; a fraction of them where sources were drawn")
    truncated: int = Field(0, ge=0, description="sentences truncated at the maximum length of a model")
    fitted: str = ""
    calibration: Calibration | None = None
    outcomes: dict[Outcome, int] = Field({}, description="source sentences by outcome, where an LLM decides")
    prompt_hash: str = Field("", description="version of the prompts, where an LLM decides")

    @model_validator(mode="before")
    @classmethod
    def _read_earlier_name(cls, data: Any) -> Any:  # noqa: ANN401 - whatever is to be validated
        return with_new_names(data, cut="truncated")

    @property
    def f1_of_all(self) -> float:
        """Mean F1 when a source that was not answered counts as 0: failures must not win."""
        return self.f1 * self.answered / self.sources if self.sources else 0.0

    @property
    def f1_over_all_sources(self) -> float | None:
        """F1 over the links of all source sentences; ``None`` where only sources with links were asked about."""
        only_linked = self.sampled_from and self.all_sources.false_link_rate is None
        return None if only_linked else self.all_sources.f1

    @property
    def seconds_per_1000_pairs(self) -> float:
        """What the approach costs, in seconds of this machine; 0 when there was no pair."""
        return 1000 * self.seconds / self.pairs if self.pairs else 0.0

    @property
    def cost_per_1000_pairs(self) -> float:
        """What an LLM's answers cost in money; 0 when there was no pair."""
        return 1000 * self.cost / self.pairs if self.pairs else 0.0

    @property
    def row(self) -> dict[str, object]:
        """The result as a row of a table: scores and rates in percent, empty where unknown, and seconds in total."""
        rate = self.all_sources.false_link_rate
        return {
            "approach": self.approach.name,
            "P": f"{100 * self.precision:.2f}",
            "R": f"{100 * self.recall:.2f}",
            "F1": f"{100 * self.f1:.2f}",
            "F1, failures wrong": f"{100 * self.f1_of_all:.2f}",
            "F1, all sources": "" if (f1 := self.f1_over_all_sources) is None else f"{100 * f1:.2f}",
            "false links": "" if rate is None else f"{100 * rate:.1f}",
            "calibration error": f"{100 * self.calibration.error:.0f}" if self.calibration else "",
            "answered": f"{self.answered} of {self.sources}",
            "seconds": f"{self.seconds:.1f}",
            "truncated": self.truncated,
        }

    def llm_row(self, usage: Usage | None) -> dict[str, object]:
        """Return what an LLM answered and what that cost, as a row of a table; ``None``: the costs are unknown."""
        return {
            "approach": self.approach.name,
            "source sentences": ", ".join(f"{count} {outcome.words}" for outcome, count in self.outcomes.items()),
            "prompt tokens": f"{usage.prompt_tokens:,}" if usage else "",
            "cached": f"{usage.cached_share:.0%}" if usage else "",
            "answer tokens": f"{usage.completion_tokens:,}" if usage else "",
            "LLM seconds": f"{usage.seconds:.1f}" if usage else "",
            "cost": f"{usage.cost:.4f}" if usage else "",
            "prompts": self.prompt_hash,
        }


def count_outcomes(decisions: Iterable[Decision]) -> dict[Outcome, int]:
    """Return how many source sentences had each outcome, in the order of ``Outcome``; no zeros."""
    counts = Counter(decision.outcome for decision in decisions)
    return {outcome: counts[outcome] for outcome in Outcome if counts[outcome]}
