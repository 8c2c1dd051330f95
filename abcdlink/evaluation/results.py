"""What a benchmark says of one approach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pydantic import Field

from abcdlink.corpus.records import Record
from abcdlink.evaluation.scores import AllSources
from abcdlink.linking.records import Approach, Decision
from abcdlink.llm.records import Outcome


class ApproachResult(Record):
    """How one approach did on a benchmark: macro means over the answered sources, in fractions of 1.

    ``f1`` leaves out the sources that were not answered; ``f1_of_all`` counts them as wrong.
    ``fitted`` is empty where nothing was fitted, else it says in words on what.
    """

    approach: Approach
    precision: float = Field(ge=0, le=1)
    recall: float = Field(ge=0, le=1)
    f1: float = Field(ge=0, le=1)
    sources: int = Field(ge=0, description="sources with links")
    answered: int = Field(ge=0, description="sources with links that could be answered")
    all_sources: AllSources
    seconds: float = Field(ge=0, description="time it took, with what had been kept from earlier runs")
    pairs: int = Field(ge=0, description="pairs that took this time")
    cut: int = Field(0, ge=0, description="sentences cut by the maximum length of a model")
    fitted: str = ""
    outcomes: dict[Outcome, int] = Field({}, description="source sentences by outcome, where an LLM decides")
    prompt_hash: str = Field("", description="version of the prompts, where an LLM decides")

    @property
    def f1_of_all(self) -> float:
        """Mean F1 when a source that was not answered counts as 0: failures must not win."""
        return self.f1 * self.answered / self.sources if self.sources else 0.0

    @property
    def seconds_per_1000_pairs(self) -> float:
        """What the approach costs, in seconds of this machine; 0 when there was no pair."""
        return 1000 * self.seconds / self.pairs if self.pairs else 0.0


def count_outcomes(decisions: Iterable[Decision]) -> dict[Outcome, int]:
    """Return how many source sentences had each outcome, in the order of ``Outcome``; no zeros."""
    counts = Counter(decision.outcome for decision in decisions)
    return {outcome: counts[outcome] for outcome in Outcome if counts[outcome]}
