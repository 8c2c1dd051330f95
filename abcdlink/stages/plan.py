"""What a benchmark compares: retrievers, learned linkers, cutoffs, and LLMs that decide on candidates."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from abcdlink.corpus.records import Record
from abcdlink.errors import InputError
from abcdlink.evaluation.scores import PAPER_CUTOFFS, Definition
from abcdlink.linking.learners import base_retrievers, is_learned
from abcdlink.linking.records import SAMPLES, Aim, Approach, CutoffRule, HowToScore, Scoring, Setup, llm_grid
from abcdlink.llm.profiles import DEFAULT, linkers, require_known

PromptMode = Annotated[int, Field(ge=1, le=4)]
Name = Annotated[str, Field(pattern=r"^\S+$")]


class LLMPlan(Record):
    """Which set-ups of the LLM are compared: every combination."""

    models: tuple[Name, ...] = Field(
        (),
        description="LLM profiles that decide, by the names in the settings file; empty: those of the role linkers. "
        "small~large is a cascade: the larger model decides where the smaller one is unsure (needs votes or "
        "probability).",
    )
    retrievers: tuple[Name, ...] = Field(
        (),
        description="Retrievers or learned linkers whose top candidates it decides on; empty: the "
        "retriever with the best mean of F1 over the cutoffs.",
    )
    cutoffs: tuple[Annotated[int, Field(ge=1, le=1000)], ...] = Field(
        (), description="How many candidates; empty: as the domain says."
    )
    setups: tuple[Setup, ...] = Field(
        (Setup.LISTWISE,),
        min_length=1,
        description="listwise: all candidates of a source sentence at once; two-step: the same, and the model "
        "thinks in words before it decides; pairwise: one at a time; "
        "llm-only: every target sentence, without a retriever.",
    )
    prompt_modes: tuple[PromptMode, ...] = Field(
        (4,), min_length=1, description="1 no guidance, 2 examples, 3 description, 4 description and examples."
    )
    scorings: tuple[Scoring, ...] = Field(
        (Scoring.ANSWER,),
        min_length=1,
        description="answer: what it says; votes: the share of several samples; probability: of the token for link.",
    )
    samples: int = Field(SAMPLES, ge=2, le=100, description="Sampled answers that vote.")
    rules: tuple[CutoffRule, ...] = Field(
        (), description="Fitted cutoffs of votes and probabilities, beside the plain majority."
    )

    sources: int | None = Field(
        None,
        ge=1,
        description="Ask about at most so many source sentences of a corpus, drawn evenly over its pairs; empty: all.",
    )
    linked_only: bool = Field(
        default=False,
        description="Ask only about source sentences with gold links, on which precision, recall and F1 are taken; "
        "false links on the others are then not measured.",
    )
    seed: int = Field(13, ge=0, description="Seed of that draw.")

    def approaches(self, retrievers: tuple[str, ...], cutoffs: tuple[int, ...]) -> list[Approach]:
        """Return the grid of approaches with these retrievers and cutoffs."""
        scorings = []
        for scoring in self.scorings:
            samples = self.samples if scoring is Scoring.VOTES else 1
            rules = () if scoring is Scoring.ANSWER else self.rules
            scorings += [HowToScore(scoring=scoring, samples=samples, rule=rule) for rule in (None, *rules)]
        models = ["" if name == DEFAULT else name for name in self.models or linkers()]
        return llm_grid(retrievers, cutoffs, self.setups, self.prompt_modes, scorings, models)

    def chosen(self) -> LLMPlan:
        """Return the same plan with the models that the settings file chooses where the plan does not.

        Raises:
            InputError: when a model is no profile.
        """
        models = self.models or linkers()
        require_known(models)
        return self.model_copy(update={"models": () if models == (DEFAULT,) else models})


class BenchmarkPlan(Record):
    """Which approaches are compared, and how they are scored."""

    retrievers: tuple[str, ...] = ("bm25", "all-minilm-l6-v2", "hybrid")
    learned: tuple[Name, ...] = Field(
        ("learned-logistic",),
        description="Learned linkers: learned-logistic, learned-boosting; with another dense retriever as "
        "learned-logistic:bge-m3.",
    )
    cutoffs: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        PAPER_CUTOFFS, description="Cutoffs k: how many top-ranked target sentences count as links."
    )
    rules: tuple[CutoffRule, ...] = Field(
        (CutoffRule.EXPECTED_F1,), description="Cutoffs by rule, fitted on the synthetic corpus."
    )
    aim: Aim = Field(
        Aim.PAPER,
        description="What rules are fitted for. paper: mean F1 over source sentences with links; all-sources: F1 over "
        "the links of all source sentences, of which one may have none.",
    )
    folds: int = Field(
        5,
        ge=3,
        description="Folds of the pairs, where something is fitted; pairs that share a document stay together.",
    )
    definition: Definition = Field(
        "paper", description="Of precision at k. paper: hits / min(k, target sentences); common: hits / k."
    )
    llm: LLMPlan | None = Field(LLMPlan(), description="None: no LLM is asked.")

    @model_validator(mode="after")
    def _something_is_compared(self) -> BenchmarkPlan:
        if not (self.retrievers or self.learned) or not (self.cutoffs or self.rules):
            msg = "the benchmark has nothing to compare"
            raise InputError(msg, "name a retriever or a learned linker, and a cutoff")
        return self

    def chosen(self) -> BenchmarkPlan:
        """Return the same plan with the models that are asked; ``InputError`` when one is no profile."""
        return self.model_copy(update={"llm": self.llm.chosen()}) if self.llm else self

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
