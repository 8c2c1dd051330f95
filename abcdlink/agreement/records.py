"""What is said about the agreement of annotators."""

from __future__ import annotations

from pydantic import Field

from abcdlink.corpus.records import Record

ONE_LABEL = "undefined (one label only)"
ONE_ANNOTATOR = "undefined (no candidate was judged by two annotators)"


class Measures(Record):
    """Agreement on a set of candidates. Fractions of 1; ``None`` where a measure is undefined.

    With more than two annotators every measure is the mean over pairs of annotators.
    """

    judged: int = Field(description="candidates with all the judgments that are asked for")
    observed: float | None = Field(None, description="share of candidates on which two annotators say the same")
    kappa: float | None = Field(None, description="Cohen's kappa")
    interval: tuple[float, float] | None = Field(None, description="95 % bootstrap interval of kappa over sources")
    ac1: float | None = Field(None, description="Gwet's AC1, which does not collapse under skewed labels")
    prevalence: float | None = Field(None, description="share of Link among all judgments")
    note: str = Field("", description="why a measure is undefined, or how it was made")


class Acceptance(Record):
    """How many of one method's candidates all annotators call Link; ``interval``: 95 %, Wilson."""

    accepted: int
    candidates: int
    rate: float
    interval: tuple[float, float]


class Agreement(Measures):
    """Agreement on all judgments given, and by method and batch.

    ``incomplete``: candidates with fewer judgments than asked for; they are in no other figure.
    """

    annotators: tuple[str, ...]
    incomplete: int
    acceptance: dict[str, Acceptance]
    methods: dict[str, Measures]
    batches: dict[int, Measures]
