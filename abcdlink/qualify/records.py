"""What a qualification is made of, and what came of it."""

from __future__ import annotations

from pydantic import Field

from abcdlink.corpus.records import Corpus, Record
from abcdlink.judgments import Pool

GOLD = "gold"
"""Method of a candidate that is a gold link; the others of a pool are random."""


class GoldSet(Record):
    """The gold pair as applicants get it: ``corpus`` holds this pair alone, ``pools`` its tasks.

    ``links``: gold links among the candidates.
    """

    corpus: Corpus
    pools: tuple[Pool, ...]
    links: int


class Applicant(Record):
    """How one applicant judged the gold pair. Fractions of 1; ``None`` where a measure is undefined."""

    annotator: str = Field(description="pseudonym, such as applicant-1")
    simulated: bool
    tasks: int = Field(description="tasks of the qualification")
    done: int = Field(description="tasks in which the applicant decided every candidate")
    judged: int = Field(description="candidates judged")
    kappa: float | None = Field(None, description="Cohen's kappa against gold")
    interval: tuple[float, float] | None = Field(None, description="95 % bootstrap interval of kappa over sources")
    observed: float | None = Field(None, description="share of the judged candidates on which gold says the same")
    precision: float | None = Field(None, description="share of the applicant's links that are gold")
    recall: float | None = Field(None, description="share of the gold links among the judged that were found")
    seconds: float | None = Field(None, description="median seconds on one task")
    note: str = Field("", description="why kappa is undefined")

    @property
    def finished(self) -> bool:
        """Whether every task was judged whole; only then can applicants be ranked."""
        return self.done == self.tasks
