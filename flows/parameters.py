"""What a coordinator can choose; the form in the Prefect UI is made from these models.

The form shows the descriptions of the fields, and for a flow's own parameters those of its docstring.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from abcdlink.domain import find_domain
from abcdlink.generation import Strategy
from abcdlink.stages.benchmark import BenchmarkPlan
from abcdlink.stages.intake import domain_of
from abcdlink.store import RUN_KEY, Store

RunKey = Annotated[str, Field(pattern=f"^{RUN_KEY.pattern}$")]
OptionalRunKey = Annotated[str, Field(pattern=f"^({RUN_KEY.pattern})?$")]
FirstPairs = Annotated[int | None, Field(ge=1)]


class RetrieverName(StrEnum):
    """The retrievers that can be chosen in the form."""

    BM25 = "bm25"
    BM25_STEMMED = "bm25-stemmed"
    JACCARD = "jaccard"
    MINILM = "all-minilm-l6-v2"
    MPNET = "all-mpnet-base-v2"
    BGE_M3 = "bge-m3"
    CONTRIEVER = "contriever"
    DRAGON_PLUS = "dragon-plus"
    SFR_MISTRAL = "sfr-mistral"
    SPLADE_V3 = "splade-v3"
    BGE_M3_SPARSE = "bge-m3-sparse"
    BGE_RERANKER = "bge-reranker-v2-m3"
    MS_MARCO_MINILM = "ms-marco-minilm-l6-v2"
    HYBRID = "hybrid"


class Parameters(BaseModel):
    """A group of fields in the form; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class GenerationParameters(Parameters):
    """How the synthetic corpus is written."""

    strategy: Strategy = Field(
        Strategy.SENTENCE,
        description="sentence: one linked sentence at a time (works with small models); "
        "document: the whole source document at once (as in the paper).",
    )
    documents: int | None = Field(None, ge=1, description="Use only the first N target documents; empty: all.")
    seed: int = Field(13, ge=0)


class BenchmarkParameters(Parameters):
    """Which approaches are compared on the synthetic corpus."""

    retrievers: list[RetrieverName] = Field(
        [RetrieverName.BM25, RetrieverName.MINILM, RetrieverName.HYBRID], min_length=1
    )
    cutoffs: list[Annotated[int, Field(ge=1, le=1000)]] = Field([1, 3, 5, 7, 10, 20], min_length=1)
    llm_retrievers: list[RetrieverName] = Field(
        [], description="Retrievers whose top candidates the LLM decides on; empty: the best one by F1."
    )
    prompt_mode: int = Field(
        4, ge=1, le=4, description="1 no guidance, 2 examples, 3 description, 4 description and examples."
    )

    def plan(self) -> BenchmarkPlan:
        """Return the same choice as the library's record."""
        return BenchmarkPlan(
            retrievers=tuple(name.value for name in self.retrievers),
            cutoffs=tuple(self.cutoffs),
            llm_retrievers=tuple(name.value for name in self.llm_retrievers),
            prompt_mode=self.prompt_mode,
        )


class AnnotationParameters(Parameters):
    """How people annotate."""

    batches: int = Field(2, ge=1, le=20, description="Batches; a feedback round lies between two of them.")
    overlap: int | None = Field(
        None, ge=1, le=10, description="Annotators who judge each task; empty: as the domain says."
    )
    auto_feedback: bool = Field(
        False, description="Go on after a feedback round at once, without waiting for the coordinator."
    )
    seed: int = Field(13, ge=0, description="Seed of the random distractors.")

    def overlap_in(self, domain: str) -> int:
        """Return how many annotators judge each task of this domain."""
        return self.overlap or find_domain(domain).settings.overlap


def run_domain(store: Store, domain: str) -> str:
    """Return the path of a run's domain; ``domain`` is what the form says, empty: what the run was begun with."""
    return str(domain_of(store, domain).folder)
