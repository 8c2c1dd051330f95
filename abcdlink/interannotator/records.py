"""What is said about the agreement of annotators."""

from __future__ import annotations

from pydantic import Field

from abcdlink.corpus.records import Record

ONE_LABEL = "undefined (one label only)"
ONE_ANNOTATOR = "undefined (no candidate was judged by two annotators)"

Interval = tuple[float, float]


class Estimate(Record):
    """One figure with its 95 % bootstrap interval; ``None`` where it is undefined, for the reason in ``note``."""

    value: float | None = None
    interval: Interval | None = None
    note: str = ""


class Measures(Record):
    """Agreement on a set of candidates. Fractions of 1; ``None`` where a measure is undefined.

    With more than two annotators every measure is the mean over pairs of annotators.
    """

    judged: int = Field(description="candidates with all the judgments that are asked for")
    observed: float | None = Field(None, description="share of candidates on which two annotators say the same")
    observed_interval: Interval | None = Field(None, description="95 % bootstrap interval over sources")
    kappa: float | None = Field(None, description="Cohen's kappa")
    interval: Interval | None = Field(None, description="95 % bootstrap interval of kappa over sources")
    ac1: float | None = Field(None, description="Gwet's AC1, which does not collapse under skewed labels")
    ac1_interval: Interval | None = Field(None, description="95 % bootstrap interval over sources")
    prevalence: float | None = Field(None, description="share of Link among all judgments")
    note: str = Field("", description="why a measure is undefined, or how it was made")


class MultipleMeasures(Record):
    """Agreement of more than two annotators on candidates."""

    fleiss: Estimate = Field(description="Fleiss' kappa")
    fleiss_judged: int = Field(description="candidates in it: those with the most frequent number of judgments")
    fleiss_judgments: int = Field(description="judgments on each of these")
    krippendorff: Estimate = Field(description="Krippendorff's alpha for nominal labels")
    krippendorff_judged: int = Field(description="candidates in it: those with two or more judgments")


class Acceptance(Record):
    """How many of one method's candidates all annotators call Link; ``interval``: 95 %, Wilson."""

    accepted: int
    candidates: int
    rate: float
    interval: Interval


class Agreement(Measures):
    """Agreement on all judgments given, and by method, batch and pair of annotators.

    ``incomplete``: candidates with fewer judgments than asked for; they are in no other figure.
    ``couples``: the two pseudonyms, joined by "and" -> agreement on the candidates that both judged.
    ``multiple``: where there are more than two annotators.
    """

    annotators: tuple[str, ...]
    incomplete: int
    acceptance: dict[str, Acceptance]
    methods: dict[str, Measures]
    batches: dict[int, Measures]
    couples: dict[str, Measures] = Field({})
    multiple: MultipleMeasures | None = None
