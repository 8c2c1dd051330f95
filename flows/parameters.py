"""What a coordinator can choose; the form in the Prefect UI is made from these models.

The form shows the descriptions of the fields, and for a flow's own parameters those of its docstring.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from abcdlink.candidates.pools import PoolMode
from abcdlink.coding import patterns_in
from abcdlink.corpus.sampling import Sampling
from abcdlink.domain import domain_of, find_domain
from abcdlink.errors import InputError
from abcdlink.evaluation.shortlist import ShortlistRule
from abcdlink.generation import Strategy
from abcdlink.judgments import LabelRule
from abcdlink.llm.profiles import names
from abcdlink.plugins import installed
from abcdlink.qualify.gold import WANTED_LINKS
from abcdlink.qualify.screening import Eligibility
from abcdlink.retrieval.registry import GROUP, RETRIEVERS
from abcdlink.settings import get_settings
from abcdlink.stages.candidates import PoolPlan
from abcdlink.stages.plan import BenchmarkPlan, LLMPlan, Name
from abcdlink.stages.whole import Generating, WholeJob
from abcdlink.store import RUN_KEY, Store
from labelstudio_config.pages.qualify import MOST_APPLICANTS

RunKey = Annotated[str, Field(pattern=f"^{RUN_KEY.pattern}$")]
OptionalRunKey = Annotated[str, Field(pattern=f"^({RUN_KEY.pattern})?$")]
FirstPairs = Annotated[int | None, Field(ge=1)]


def _offer_retrievers(schema: dict[str, Any]) -> None:
    """Let the form offer the retrievers that there are, those of installed packages included."""
    schema["enum"] = list(dict.fromkeys([*RETRIEVERS, *installed(GROUP)]))


def _offer_profiles(schema: dict[str, Any]) -> None:
    """Let the form offer the LLM profiles that there were when the deployments were made (`abcdlink up`)."""
    schema["enum"] = list(names())


RetrieverName = Annotated[Name, Field(json_schema_extra=_offer_retrievers)]
ProfileName = Annotated[Name, Field(json_schema_extra=_offer_profiles)]


class Parameters(BaseModel):
    """A group of fields in the form; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class GenerationParameters(Parameters):
    """How the synthetic corpus is written."""

    strategy: Strategy = Field(
        Strategy.SENTENCE,
        description="sentence: one linked sentence at a time (works with small models); "
        "document: the whole source document at once (the strategy of the paper).",
    )
    documents: int | None = Field(None, ge=1, description="Use only the first N target documents; empty: all.")
    seed: int = Field(13, ge=0, description="Seed of the choice of target sentences.")
    like: str = Field(
        "", description="Folder of a corpus with links whose shape is imitated; empty: as the domain says."
    )
    second_look: str = Field(
        "",
        description="LLM profile whose model judges all links and all sentences without links, or run:KEY for the "
        "learned linker of another run; empty: none.",
    )
    drop: bool = Field(True, description="Drop what the second look disagrees with; otherwise it is only shown.")

    def generating(self) -> Generating:
        """Return the library's record."""
        return Generating(self.strategy, self.seed, self.documents, self.like, self.second_look, self.drop)


class TargetParameters(Sampling):
    """Documents to generate for, where they are not those of the natural pairs."""

    folder: str = Field(
        "", description="Folder of a corpus, which needs no pairs; empty: the target documents of the natural pairs."
    )


class LLMParameters(LLMPlan):
    """Which set-ups of the LLM are compared: every combination."""

    use: bool = Field(True, description="Off: no LLM is asked.")
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
        (), description="Others by name, such as hybrid:bm25-stemmed+bge-m3 or st:organisation/model."
    )
    llm: LLMParameters = Field(LLMParameters(), title="LLM")

    def plan(self) -> BenchmarkPlan:
        """Return the library's plan."""
        same = self.model_dump(exclude={"retrievers", "more_retrievers", "llm"})
        names = dict.fromkeys([*self.retrievers, *self.more_retrievers])
        return BenchmarkPlan.model_validate({**same, "retrievers": tuple(names), "llm": self.llm.plan()})


class PeopleParameters(Parameters):
    """How people annotate candidates that are made."""

    batches: int = Field(2, ge=1, le=20, description="Batches; there is a feedback round between two of them.")
    overlap: int | None = Field(
        None, ge=1, le=10, description="Annotators who judge each task; empty: as the domain says."
    )
    shared_queue: bool = Field(
        False,
        description="All annotators share one project for each batch, and may see each other's answers there; off: "
        "each has their own.",
    )
    deadline_days: int | None = Field(
        None, ge=1, le=365, description="Days within which each batch should be done; empty: no deadline."
    )
    late_days: int = Field(3, ge=1, le=365, description="Days without an answer after which an annotator is late.")
    reminder_block: str = Field(
        "",
        pattern=r"^([\w-]+/[\w-]+)?$",
        description="Notification block that sends reminders, such as slack-webhook/annotators; empty: no reminders.",
    )
    preview: bool | None = Field(
        None,
        description="Before annotators see a batch, wait until you have looked at it and said Go; empty: as "
        "ABCDLINK_PREVIEW says, which is yes unless it was changed.",
    )
    auto_feedback: bool = Field(
        False, description="Start the next batch immediately: no feedback round, no waiting for the coordinator."
    )

    @property
    def previews(self) -> bool:
        """Whether the coordinator looks at each batch before annotators see it."""
        return get_settings().preview if self.preview is None else self.preview

    def overlap_in(self, domain: str) -> int:
        """Return how many annotators judge each task of this domain."""
        return self.overlap or find_domain(domain).settings.overlap


class AnnotationParameters(PeopleParameters, PoolPlan):
    """Which candidates annotators see, and how they annotate them."""

    def pools(self) -> PoolPlan:
        """Return the library's plan."""
        return PoolPlan.model_validate(self.model_dump(include=set(PoolPlan.model_fields)))

    def people(self) -> dict[str, Any]:
        """Return what of this concerns people, as parameters of the flow annotate."""
        return self.model_dump(mode="json", include=set(PeopleParameters.model_fields))


def annotation_of_one(annotation: AnnotationParameters) -> AnnotationParameters:
    """Return the same annotation of what a single approach proposes.

    Raises:
        InputError: when the candidates are to come from two approaches.
    """
    if annotation.mode in {PoolMode.INTERSECTION, PoolMode.UNION}:
        msg = f"a quick try has one approach, and the mode {annotation.mode.value!r} needs two"
        raise InputError(msg, "leave out the mode")
    return annotation.model_copy(update={"mode": PoolMode.SINGLE})


def whole_job(
    corpus: str,
    pairs: int | None,
    targets: TargetParameters | None = None,
    generation: GenerationParameters | None = None,
    benchmark: BenchmarkParameters | None = None,
    shortlist: ShortlistRule | None = None,
    annotation: AnnotationParameters | None = None,
    quick: bool = False,
) -> WholeJob:
    """Return the library's record of all that is asked for up to the candidates; ``None``: the defaults.

    Raises:
        InputError: when a quick try, which has one approach, is to take candidates from two.
    """
    writing, annotation = generation or GenerationParameters(), annotation or AnnotationParameters()
    if quick:
        annotation = annotation_of_one(annotation)
    return WholeJob(
        corpus=corpus,
        pairs=pairs,
        targets=targets.folder if targets else "",
        sampling=targets or TargetParameters(),
        generating=writing.generating(),
        benchmark=(benchmark or BenchmarkParameters()).plan(),
        shortlist=shortlist or ShortlistRule(),
        pools=annotation.pools(),
        quick=quick,
    )


class LabelParameters(Parameters):
    """How a corpus that nobody judges is labelled."""

    name: str = Field("", description="Name of these labels in the run; empty: that of the corpus folder.")
    linker: str = Field("", description="Learned linker of the run; empty: the only one that there is.")
    precision: float = Field(0.95, gt=0, le=1, description="Wanted precision of the links; sets the threshold.")
    floor: float = Field(0.05, gt=0, lt=1, description="Keep every candidate with at least this probability.")


class QualificationParameters(Parameters):
    """How applicants are tried out."""

    corpus: str = Field(
        "sample",
        description="Folder with gold links, as `abcdlink import` writes it; `sample`: the domain's shipped sample.",
    )
    pairs: tuple[str, ...] = Field(
        (), description="Ids of the gold pairs; none: the one pair whose number of links is nearest."
    )
    links: int = Field(WANTED_LINKS, ge=1, description="How many links that pair should have.")
    expert: bool = Field(
        False, description="First, one account links the named pairs in Label Studio; links in the corpus do not count."
    )
    eligibility: Eligibility = Field(
        Eligibility(), description="Who may be taken, by their screening fields (`abcdlink qualify screening`)."
    )
    applicants: int = Field(
        4, ge=1, le=MOST_APPLICANTS, description="Applications close when this many applicants have judged every task."
    )
    wanted: int = Field(2, ge=1, description="Propose at most this many applicants.")
    threshold: float = Field(
        0.6, ge=-1, le=1, description="Propose only applicants with at least this kappa against the gold links."
    )
    seed: int = Field(13, ge=0, description="Seed of the distractors and of the sources without links.")


class RatingParameters(Parameters):
    """How people rate documents."""

    synthetic: int = Field(30, ge=1, description="Synthetic documents that are rated, at most.")
    natural: int = Field(30, ge=0, description="Natural documents that are mixed in, at most.")
    same_targets: bool = Field(
        False,
        description="Natural documents on the same target documents as the synthetic ones (their counterparts, as in "
        "the paper); otherwise on other targets, so that raters cannot compare.",
    )
    overlap: int | None = Field(None, ge=1, le=10, description="Raters of a document; empty: as the domain says.")
    seed: int = Field(13, ge=0, description="Seed of the choice and of the order.")


TENTH = 0.1
"""Share of the source sentences that are judged exhaustively, unless something else is asked for."""
MOST_SOURCES = 1000
"""Source sentences that are pushed where judging stops at a number of links: each task has both documents."""


class ExhaustiveParameters(Parameters):
    """Which source sentences are judged against every sentence of the target document, and by how many."""

    share: float | None = Field(
        None,
        gt=0,
        le=1,
        description="Share of the source sentences, sampled at random; empty: a tenth, or up to 1,000 sentences where "
        "judging stops at a number of links.",
    )
    number: int | None = Field(None, ge=1, description="A number of source sentences instead of a share.")
    links: int | None = Field(
        None, ge=1, description="Stop when all who are asked have found so many links; empty: judge the whole sample."
    )
    overlap: int | None = Field(
        None, ge=1, le=10, description="Annotators who judge each source sentence; empty: as the domain says."
    )
    rule: Literal[LabelRule.BOTH, LabelRule.MAJORITY] = Field(
        LabelRule.BOTH, description="What makes a sentence a gold link. both: all who judged it say so; majority: most."
    )
    seed: int = Field(13, ge=0, description="Seed of the sample.")

    @property
    def share_or_none(self) -> float | None:
        """The share, where no number is asked for."""
        return None if self.size else self.share or TENTH

    @property
    def size(self) -> int | None:
        """The number of source sentences, where it goes by that."""
        return self.number or (MOST_SOURCES if self.links and not self.share else None)

    def overlap_in(self, domain: str) -> int:
        """Return how many annotators judge each source sentence."""
        return self.overlap or find_domain(domain).settings.overlap


class CodingParameters(Parameters):
    """Which wrong predictions are coded, into which patterns, and by how many."""

    most: int = Field(100, ge=1, le=5000, description="Wrong predictions that are coded, drawn at random.")
    overlap: int = Field(2, ge=1, le=10, description="Coders; each has a project of their own.")
    patterns: tuple[str, ...] = Field(
        (), description="Patterns to choose from, each as `name: meaning`; none: the usual ones."
    )
    seed: int = Field(13, ge=0, description="Seed of the draw.")

    @field_validator("patterns")
    @classmethod
    def _can_be_used(cls, lines: tuple[str, ...]) -> tuple[str, ...]:
        patterns_in(lines)
        return lines


def run_domain(store: Store, domain: str) -> str:
    """Return what a run's domain is found by; ``domain`` is what the form says, empty: what the run was begun with."""
    return domain_of(store, domain).reference
