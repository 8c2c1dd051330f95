"""What a coordinator can choose; the form in the Prefect UI is generated from these models.

The form shows the fields' descriptions and, for a flow's own parameters, those in its docstring.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from abcdlink.candidates.pools import PoolMode
from abcdlink.coding import patterns_in
from abcdlink.corpus.sampling import Sampling
from abcdlink.domain import Domain
from abcdlink.errors import InputError
from abcdlink.evaluation.shortlist import ShortlistRule
from abcdlink.judgments import LabelRule
from abcdlink.llm.profiles import names
from abcdlink.plugins import installed
from abcdlink.qualify.gold import WANTED_LINKS
from abcdlink.qualify.screening import Eligibility
from abcdlink.retrieval.registry import GROUP, RETRIEVERS
from abcdlink.run_keys import RUN_KEY
from abcdlink.settings import get_settings
from abcdlink.stages.candidates import PoolPlan
from abcdlink.stages.generate import Generating
from abcdlink.stages.plan import BenchmarkPlan, LLMPlan, Name
from abcdlink.stages.whole import WholeJob
from labelstudio_config.pages.qualify import MOST_APPLICANTS

RunKey = Annotated[str, Field(pattern=f"^{RUN_KEY.pattern}$")]
OptionalRunKey = Annotated[str, Field(pattern=f"^({RUN_KEY.pattern})?$")]
FirstPairs = Annotated[int | None, Field(ge=1)]


def _offer_retrievers(schema: dict[str, Any]) -> None:
    """Let the form offer the available retrievers, including those of installed packages."""
    schema["enum"] = list(dict.fromkeys([*RETRIEVERS, *installed(GROUP)]))


def _offer_profiles(schema: dict[str, Any]) -> None:
    """Let the form offer the LLM profiles that existed when the deployments were created (`abcdlink up`)."""
    schema["enum"] = list(names())


RetrieverName = Annotated[Name, Field(json_schema_extra=_offer_retrievers)]
ProfileName = Annotated[Name, Field(json_schema_extra=_offer_profiles)]


class Parameters(BaseModel):
    """A group of fields in the form; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class TargetParameters(Sampling):
    """Documents to generate for, if not those of the natural pairs."""

    folder: str = Field(
        "", description="Folder of a corpus, which needs no pairs; empty: the target documents of the natural pairs."
    )


class LLMParameters(LLMPlan):
    """Which LLM settings are compared: every combination."""

    use: bool = Field(True, description="Off: no LLM is used.")
    models: tuple[ProfileName, ...] = Field((), description=LLMPlan.model_fields["models"].description)

    def plan(self) -> LLMPlan | None:
        """Return the library's plan; ``None``: no LLM."""
        return LLMPlan.model_validate(self.model_dump(exclude={"use"})) if self.use else None


class BenchmarkParameters(BenchmarkPlan):
    """Which approaches are compared on the synthetic corpus."""

    retrievers: tuple[RetrieverName, ...] = Field(
        ("bm25", "all-minilm-l6-v2", "hybrid"),
        min_length=1,
        description="Retrievers; only MiniLM comes with abcdlink; other models must be on this machine, or downloads "
        "must be allowed.",
    )
    more_retrievers: tuple[Name, ...] = Field(
        (), description="Other retrievers by name, such as hybrid:bm25-stemmed+bge-m3 or st:organisation/model."
    )
    llm: LLMParameters = Field(LLMParameters(), title="LLM")

    def plan(self) -> BenchmarkPlan:
        """Return the library's plan."""
        same = self.model_dump(exclude={"retrievers", "more_retrievers", "llm"})
        names = dict.fromkeys([*self.retrievers, *self.more_retrievers])
        return BenchmarkPlan.model_validate({**same, "retrievers": tuple(names), "llm": self.llm.plan()})


class PeopleParameters(Parameters):
    """How people annotate existing candidates."""

    batches: int = Field(2, ge=1, le=20, description="Number of batches; a feedback round follows each but the last.")
    overlap: int | None = Field(
        None, ge=1, le=10, description="Annotators who judge each task; empty: as the domain says."
    )
    shared_queue: bool = Field(
        False,
        description="All annotators share one project per batch, where they may see each other's answers; off: "
        "each has their own project.",
    )
    deadline_days: int | None = Field(
        None, ge=1, le=365, description="Days in which each batch should be done; empty: no deadline."
    )
    late_days: int = Field(3, ge=1, le=365, description="Days without an answer after which an annotator is late.")
    reminder_block: str = Field(
        "",
        pattern=r"^([\w-]+/[\w-]+)?$",
        description="Notification block that sends reminders, such as slack-webhook/annotators; empty: no reminders.",
    )
    preview: bool | None = Field(
        None,
        description="Before annotators see a batch, wait until you have looked at it and released it; empty: as "
        "ABCDLINK_PREVIEW says (yes by default).",
    )
    auto_feedback: bool = Field(
        False, description="Start the next batch immediately: no feedback round, no waiting for the coordinator."
    )

    @property
    def previews(self) -> bool:
        """Whether the coordinator looks at each batch before annotators see it."""
        return get_settings().preview if self.preview is None else self.preview


class AnnotationParameters(PeopleParameters, PoolPlan):
    """Which candidates annotators see, and how they annotate them."""

    def pools(self) -> PoolPlan:
        """Return the library's plan."""
        return PoolPlan.model_validate(self.model_dump(include=set(PoolPlan.model_fields)))

    def people(self) -> dict[str, Any]:
        """Return the part that concerns people, as parameters of the flow annotate."""
        return self.model_dump(mode="json", include=set(PeopleParameters.model_fields))


def whole_job(
    corpus: str,
    pairs: int | None,
    targets: TargetParameters | None = None,
    generation: Generating | None = None,
    benchmark: BenchmarkParameters | None = None,
    shortlist: ShortlistRule | None = None,
    annotation: AnnotationParameters | None = None,
    quick: bool = False,
) -> WholeJob:
    """Return the library's record of everything up to the candidates; ``None`` stands for the defaults.

    Raises:
        InputError: when a quick try, which has one approach, should take candidates from two.
    """
    annotation = annotation or AnnotationParameters()
    if quick and annotation.mode in {PoolMode.INTERSECTION, PoolMode.UNION}:
        msg = f"a quick try has one approach, but the mode {annotation.mode.value!r} needs two"
        raise InputError(msg, "leave out the mode")
    return WholeJob(
        corpus=corpus,
        pairs=pairs,
        targets=targets.folder if targets else "",
        sampling=targets or TargetParameters(),
        generating=generation or Generating(),
        benchmark=(benchmark or BenchmarkParameters()).plan(),
        shortlist=shortlist or ShortlistRule(),
        pools=annotation.model_copy(update={"mode": PoolMode.SINGLE} if quick else {}).pools(),
        quick=quick,
    )


class LabelParameters(Parameters):
    """How to label a corpus without human judgments."""

    name: str = Field("", description="Name of these labels in the run; empty: that of the corpus folder.")
    linker: str = Field("", description="Learned linker of the run; may be left empty if there is only one.")
    precision: float = Field(0.95, gt=0, le=1, description="Target precision of the links; sets the threshold.")
    floor: float = Field(0.05, gt=0, lt=1, description="Keep every candidate with at least this probability.")


class QualificationParameters(Parameters):
    """How applicants are tested."""

    corpus: str = Field(
        "sample",
        description="Folder with gold links, as `abcdlink import` writes it; `sample`: the domain's shipped sample.",
    )
    pairs: tuple[str, ...] = Field(
        (), description="Ids of the gold pairs; empty: the one pair with the closest number of links."
    )
    links: int = Field(WANTED_LINKS, ge=1, description="Number of links that this pair should have.")
    expert: bool = Field(
        False, description="First, one account links the named pairs in Label Studio; links in the corpus do not count."
    )
    eligibility: Eligibility = Field(
        Eligibility(), description="Who is eligible, by their screening fields (`abcdlink qualify screening`)."
    )
    applicants: int = Field(
        4, ge=1, le=MOST_APPLICANTS, description="Applications close when this many applicants have judged every task."
    )
    wanted: int = Field(2, ge=1, description="Propose at most this many applicants.")
    threshold: float = Field(
        0.6, ge=-1, le=1, description="Propose only applicants with at least this kappa against the gold links."
    )
    seed: int = Field(13, ge=0, description="Random seed for the distractors and the sources without links.")


class RatingParameters(Parameters):
    """How people rate documents."""

    synthetic: int = Field(30, ge=1, description="At most this many synthetic documents are rated.")
    natural: int = Field(30, ge=0, description="At most this many natural documents are mixed in.")
    same_targets: bool = Field(
        False,
        description="Natural documents on the same target documents as the synthetic ones (their counterparts, as in "
        "the paper); otherwise on other targets, so that raters cannot compare.",
    )
    overlap: int | None = Field(None, ge=1, le=10, description="Raters per document; empty: as the domain says.")
    seed: int = Field(13, ge=0, description="Random seed for the choice and the order.")


TENTH = 0.1
"""Share of the source sentences that are judged exhaustively by default."""
MOST_SOURCES = 1000
"""Source sentences that are pushed when judging stops at a number of links: each task has both documents."""


class ExhaustiveParameters(Parameters):
    """Which source sentences are judged against every sentence of the target document, and by how many."""

    share: float | None = Field(
        None,
        gt=0,
        le=1,
        description="Share of the source sentences, sampled at random; empty: a tenth, or up to 1,000 sentences if "
        "judging stops at a number of links.",
    )
    number: int | None = Field(None, ge=1, description="Number of source sentences, instead of a share.")
    links: int | None = Field(
        None, ge=1, description="Stop once annotators have found this many links; empty: judge the whole sample."
    )
    overlap: int | None = Field(
        None, ge=1, le=10, description="Annotators who judge each source sentence; empty: as the domain says."
    )
    rule: Literal[LabelRule.BOTH, LabelRule.MAJORITY] = Field(
        LabelRule.BOTH,
        description="What makes a sentence a gold link. both: everyone who judged it says so; majority: most do.",
    )
    seed: int = Field(13, ge=0, description="Random seed of the sample.")

    def sampling(self, domain: Domain) -> tuple[int, int, float | None, int | None, int | None]:
        """Return overlap, seed, share, number and links, as ``make_sample`` takes them."""
        number = self.number or (MOST_SOURCES if self.links and not self.share else None)
        share = None if number else self.share or TENTH
        return self.overlap or domain.settings.overlap, self.seed, share, number, self.links


class CodingParameters(Parameters):
    """Which wrong predictions are coded, into which patterns, and by how many coders."""

    most: int = Field(100, ge=1, le=5000, description="Number of wrong predictions to code, drawn at random.")
    overlap: int = Field(2, ge=1, le=10, description="Number of coders; each has their own project.")
    patterns: tuple[str, ...] = Field(
        (), description="Patterns to choose from, each as `name: meaning`; empty: the usual ones."
    )
    seed: int = Field(13, ge=0, description="Random seed of the draw.")

    @field_validator("patterns")
    @classmethod
    def _can_be_used(cls, lines: tuple[str, ...]) -> tuple[str, ...]:
        patterns_in(lines)
        return lines
