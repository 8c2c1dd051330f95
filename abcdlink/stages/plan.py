"""What a benchmark compares: retrievers, learned linkers, cutoffs, and LLMs that decide on candidates."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from abcdlink.corpus.records import Record
from abcdlink.errors import InputError
from abcdlink.evaluation.scores import PAPER_CUTOFFS, Definition
from abcdlink.linking.grid import SAMPLES, HowToScore, llm_grid
from abcdlink.linking.learned import base_retrievers, is_learned
from abcdlink.linking.records import Approach, CutoffRule, Scoring, Setup

PromptMode = Annotated[int, Field(ge=1, le=4)]


class LLMPlan(Record):
    """Which LLM approaches are compared: every combination of these.

    ``retrievers``: retrievers or learned linkers whose top candidates the LLM decides on; empty: the
    one with the best F1. ``cutoffs``: how many candidates; empty: as the domain says. ``rules``: cut
    the scores of votes and probabilities, beside the plain majority.
    """

    retrievers: tuple[str, ...] = ()
    cutoffs: tuple[int, ...] = ()
    setups: tuple[Setup, ...] = Field((Setup.LISTWISE,), min_length=1)
    prompt_modes: tuple[PromptMode, ...] = Field((4,), min_length=1)
    scorings: tuple[Scoring, ...] = Field((Scoring.ANSWER,), min_length=1)
    samples: int = Field(SAMPLES, ge=2)
    rules: tuple[CutoffRule, ...] = ()

    def approaches(self, retrievers: tuple[str, ...], cutoffs: tuple[int, ...]) -> list[Approach]:
        """Return the grid of approaches with these retrievers and cutoffs."""
        scorings = []
        for scoring in self.scorings:
            samples = self.samples if scoring is Scoring.VOTES else 1
            rules = () if scoring is Scoring.ANSWER else self.rules
            scorings += [HowToScore(scoring=scoring, samples=samples, rule=rule) for rule in (None, *rules)]
        return llm_grid(retrievers, cutoffs, self.setups, self.prompt_modes, scorings)


class BenchmarkPlan(Record):
    """Which approaches are compared, and how they are scored.

    ``learned``: learned linkers, by name. ``rules``: cutoffs by rule beside the fixed ``cutoffs``.
    ``folds``: both are fitted on the other folds of the pairs that they are scored on; pairs that
    share a document are in one fold. ``llm``: none: no LLM is asked.
    """

    retrievers: tuple[str, ...] = ("bm25", "all-minilm-l6-v2", "hybrid")
    learned: tuple[str, ...] = ("learned-logistic",)
    cutoffs: tuple[int, ...] = PAPER_CUTOFFS
    rules: tuple[CutoffRule, ...] = (CutoffRule.EXPECTED_F1,)
    folds: int = Field(5, ge=3)
    definition: Definition = "paper"
    llm: LLMPlan | None = LLMPlan()

    @model_validator(mode="after")
    def _something_is_compared(self) -> BenchmarkPlan:
        if not (self.retrievers or self.learned) or not (self.cutoffs or self.rules):
            msg = "the benchmark has nothing to compare"
            raise InputError(msg, "name a retriever or a learned linker, and a cutoff")
        return self

    @property
    def all_retrievers(self) -> tuple[str, ...]:
        """The retrievers that have to rank: the plan's own, those under learned linkers, and those under LLMs."""
        under_llm = self.llm.retrievers if self.llm else ()
        named = [*self.retrievers, *self.learned, *under_llm]
        return tuple(dict.fromkeys(part for name in named for part in retrievers_under(name)))

    @property
    def all_learned(self) -> tuple[str, ...]:
        """The learned linkers that have to rank, on their own or under an LLM."""
        under_llm = self.llm.retrievers if self.llm else ()
        return tuple(dict.fromkeys(name for name in (*self.learned, *under_llm) if is_learned(name)))


def retrievers_under(name: str) -> tuple[str, ...]:
    """Return the retrievers whose rankings a learned linker reads; of a retriever, itself."""
    return base_retrievers(name) if is_learned(name) else (name,)
