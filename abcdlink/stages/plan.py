"""What a benchmark compares: retrievers, learned linkers, cutoffs and LLMs; and the sample that LLMs judge."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field, model_validator

from abcdlink.corpus.records import Corpus, Record
from abcdlink.errors import InputError
from abcdlink.evaluation.scores import PAPER_CUTOFFS, Definition
from abcdlink.layout import sources_file
from abcdlink.linking.learners import base_retrievers, is_learned
from abcdlink.linking.records import SAMPLES, Aim, Approach, CutoffRule, HowToScore, Scoring, Setup, llm_grid
from abcdlink.llm.profiles import DEFAULT, linkers, require_known
from abcdlink.source_sample import Source, systematic
from abcdlink.store import Store

PromptMode = Annotated[int, Field(ge=1, le=4)]
Name = Annotated[str, Field(pattern=r"^\S+$")]


class LLMPlan(Record):
    """Which LLM settings are compared: every combination."""

    models: tuple[Name, ...] = Field(
        (),
        description="LLM profiles that decide, by the names in the settings file; empty: those of the role linkers. "
        "small~large is a cascade: the larger model decides where the smaller one is unsure (needs votes or "
        "probability).",
    )
    retrievers: tuple[Name, ...] = Field(
        (),
        description="Retrievers or learned linkers whose top candidates it decides on; empty: the "
        "retriever with the best mean F1 over the cutoffs.",
    )
    cutoffs: tuple[Annotated[int, Field(ge=1, le=1000)], ...] = Field(
        (), description="Numbers of candidates; empty: as the domain says."
    )
    setups: tuple[Setup, ...] = Field(
        (Setup.LISTWISE,),
        min_length=1,
        description="listwise: all candidates of a source sentence at once; two-step: the same, but the model "
        "reasons in words before it decides; pairwise: one at a time; "
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
    samples: int = Field(SAMPLES, ge=2, le=100, description="Number of sampled answers that vote.")
    rules: tuple[CutoffRule, ...] = Field(
        (), description="Fitted cutoffs of votes and probabilities, in addition to the plain majority."
    )

    sources: int | None = Field(
        None,
        ge=1,
        description="Ask about at most this many source sentences per corpus, sampled evenly over pairs; empty: all.",
    )
    linked_only: bool = Field(
        default=False,
        description="Ask only about source sentences with gold links, on which precision, recall and F1 are measured; "
        "false links on the others are then not measured.",
    )
    seed: int = Field(13, ge=0, description="Random seed of that sample.")

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
        """Return the same plan with the models that the settings file names, if the plan names none.

        Raises:
            InputError: when a model is not a profile.
        """
        models = self.models or linkers()
        require_known(models)
        return self.model_copy(update={"models": () if models == (DEFAULT,) else models})


class BenchmarkPlan(Record):
    """Which approaches are compared, and how they are scored."""

    retrievers: tuple[str, ...] = ("bm25", "all-minilm-l6-v2", "hybrid")
    learned: tuple[Name, ...] = Field(
        ("learned-logistic",),
        description="Learned linkers: learned-logistic, learned-boosting; with another dense retriever, as in "
        "learned-logistic:bge-m3.",
    )
    cutoffs: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        PAPER_CUTOFFS, description="Cutoffs k: how many top-ranked target sentences count as links."
    )
    rules: tuple[CutoffRule, ...] = Field(
        (CutoffRule.EXPECTED_F1,), description="Cutoffs by a rule that is fitted on the synthetic corpus."
    )
    aim: Aim = Field(
        Aim.PAPER,
        description="Objective of fitted rules. paper: mean F1 over source sentences with links; all-sources: F1 over "
        "the links of all source sentences, including those without any.",
    )
    folds: int = Field(
        5,
        ge=3,
        description="Number of folds if something is fitted; pairs that share a document stay together.",
    )
    definition: Definition = Field(
        "paper", description="Denominator of precision at k. paper: hits / min(k, target sentences); common: hits / k."
    )
    llm: LLMPlan | None = Field(LLMPlan(), description="None: no LLM is used.")

    @model_validator(mode="after")
    def _something_is_compared(self) -> BenchmarkPlan:
        if not (self.retrievers or self.learned) or not (self.cutoffs or self.rules):
            msg = "the benchmark has nothing to compare"
            raise InputError(msg, "name a retriever or a learned linker, and a cutoff")
        return self

    def chosen(self) -> BenchmarkPlan:
        """Return the same plan with the models to ask; raises ``InputError`` if one is not a profile."""
        return self.model_copy(update={"llm": self.llm.chosen()}) if self.llm else self

    @property
    def all_retrievers(self) -> tuple[str, ...]:
        """The retrievers that have to rank: the plan's own, and those that learned linkers and LLMs need."""
        under_llm = self.llm.retrievers if self.llm else ()
        named = [*self.retrievers, *self.learned, *under_llm]
        return tuple(dict.fromkeys(part for name in named for part in retrievers_under(name)))

    @property
    def all_learned(self) -> tuple[str, ...]:
        """The learned linkers that have to rank, on their own or for an LLM."""
        under_llm = self.llm.retrievers if self.llm else ()
        return tuple(dict.fromkeys(name for name in (*self.learned, *under_llm) if is_learned(name)))


def retrievers_under(name: str) -> tuple[str, ...]:
    """Return the retrievers whose rankings a learned linker reads; for a retriever, itself."""
    return base_retrievers(name) if is_learned(name) else (name,)


class SourceSample(Record):
    """A random sample of source sentences.

    ``wanted``, ``linked_only``, ``seed``: as in the plan. ``population``: source sentences that it was sampled
    from, and ``linked_population``: those of them with gold links. ``drawn``: pair -> source sentences.
    """

    wanted: int | None
    linked_only: bool
    seed: int
    population: int
    linked_population: int
    drawn: dict[str, tuple[str, ...]]

    @property
    def size(self) -> int:
        """Number of source sentences in the sample."""
        return sum(map(len, self.drawn.values()))

    def holds(self, pair: str, source: str) -> bool:
        """Tell whether a source sentence is in the sample."""
        return source in self.drawn.get(pair, ())

    def only(self, offered: Mapping[str, Mapping[str, Sequence[str]]]) -> dict[str, dict[str, Sequence[str]]]:
        """Return what is offered to the sampled source sentences, by pair and source sentence."""
        return {
            pair: {source: ids for source, ids in by_source.items() if self.holds(pair, source)}
            for pair, by_source in offered.items()
        }


def draw_sources(corpus: Corpus, plan: LLMPlan) -> SourceSample:
    """Sample source sentences evenly over the pairs: a systematic sample with a random start.

    Every sentence is as likely to be sampled as any other, and each pair contributes its share, rounded up or down. A
    larger sample with the same seed is a different sample.
    """
    strata: list[list[Source]] = []
    linked = 0
    for pair in corpus.pairs:
        with_links = {source for source, targets in pair.sources_with_links.items() if targets}
        linked += len(with_links)
        sources = [i for i in corpus.source_of(pair).position if i in with_links or not plan.linked_only]
        strata.append([(pair.id, source) for source in sources])
    population = sum(map(len, strata))
    size = min(plan.sources or population, population)
    drawn: dict[str, list[str]] = {}
    for pair_id, source in systematic(strata, size, random.Random(plan.seed)):  # noqa: S311 - no secret
        drawn.setdefault(pair_id, []).append(source)
    return SourceSample(
        wanted=plan.sources,
        linked_only=plan.linked_only,
        seed=plan.seed,
        population=population,
        linked_population=linked,
        drawn={pair_id: tuple(sources) for pair_id, sources in drawn.items()},
    )


def sample_sources(store: Store, corpus_name: str, corpus: Corpus, plan: LLMPlan) -> SourceSample | None:
    """Sample the source sentences that a plan asks about, once; ``None`` if it asks about all of them.

    Raises:
        InputError: when the run already asks about others.
    """
    name = sources_file(corpus_name)
    kept = read_sample(store, corpus_name)
    wants_sample = plan.sources is not None or plan.linked_only
    if kept is None and wants_sample:
        kept = draw_sources(corpus, plan)
        store.write_record(name, kept, indent=None)
    if kept and (kept.wanted, kept.linked_only, kept.seed) != (plan.sources, plan.linked_only, plan.seed):
        msg = f"{store.where(name)} is a different sample of source sentences from the one asked for"
        raise InputError(msg, "ask about the same ones, or use another run key")
    return kept


def read_sample(store: Store, corpus_name: str) -> SourceSample | None:
    """Return the sample of source sentences that the LLM is asked about; ``None`` for all."""
    return store.find_record(sources_file(corpus_name), SourceSample)
