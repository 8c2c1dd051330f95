"""Approaches, the combinations of them in a grid, and their decisions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import groupby, product
from typing import Annotated

from pydantic import Field, model_validator

from abcdlink.corpus.records import Record
from abcdlink.errors import InputError
from abcdlink.llm.records import Outcome


class ApproachKind(StrEnum):
    """How an approach decides."""

    RETRIEVER = "retriever"
    LEARNED = "learned"
    LLM = "llm"


class CutoffRule(StrEnum):
    """How many of a source's ranked targets are links, if not a fixed number; see ``linking.cutoffs``."""

    THRESHOLD = "threshold"
    SHARE = "share"
    GAP = "gap"
    SOFTMAX = "softmax"
    EXPECTED_F1 = "expected-f1"


class Aim(StrEnum):
    """Objective for which cutoffs by rule are fitted."""

    PAPER = "paper"
    """The paper's score: mean F1 over the sources with links. No source is left without a link."""
    ALL_SOURCES = "all-sources"
    """All source sentences: most of those in real documents link to nothing, which is also an answer."""


Cutoff = Annotated[int, Field(ge=1)] | CutoffRule
"""A number k of top-ranked targets, or a rule whose parameters are fitted on a corpus with gold links."""


class Setup(StrEnum):
    """What one question to an LLM is about."""

    LISTWISE = "listwise"
    """One source sentence and all its candidates."""
    TWO_STEP = "two-step"
    """One source sentence and all its candidates; the model writes down its reasons before it decides."""
    PAIRWISE = "pairwise"
    """One source sentence and one candidate."""
    LLM_ONLY = "llm-only"
    """One source sentence and every sentence of the target document: no retriever chooses candidates."""

    @classmethod
    def _missing_(cls, value: object) -> Setup | None:
        """Read a name from runs of earlier versions."""
        return cls.LLM_ONLY if value == "alone" else None


def current_name(approach: str) -> str:
    """Return the current name of an approach, from a run of any version."""
    return approach.replace("llm-alone-", "llm-only-")


class Scoring(StrEnum):
    """What an LLM's links come from."""

    ANSWER = "answer"
    """Its plain answer, without scores."""
    VOTES = "votes"
    """The share of several sampled answers that say link (self-consistency)."""
    PROBABILITY = "probability"
    """The probability of the answer's token for link, if the server gives log-probabilities."""


CASCADE = "~"
"""Separates two LLM profiles: the second one is asked when the first is unsure."""
DEFAULT_MODEL = "default"


class Approach(Record):
    """Anything that decides links, e.g. ``bm25@3``, ``hybrid@7+llm-pairwise-2`` or ``llm-only-4``.

    ``retriever``: the one whose ranking is cut (for a learned linker, its own name); empty for LLM-only.
    ``cutoff``: which of the ranked targets are links, or are offered to the LLM; none for LLM-only. The rest is for an
    LLM only: ``model`` is the LLM profile that is asked, empty for the one of the environment, and stands in the name
    instead of ``llm``; ``samples`` is the number of sampled answers for votes; ``rule`` cuts its scores where this is
    fitted on a corpus with gold links, else a score above one half is a link. Raises ``InputError`` when the fields do
    not fit together; names the approach and a hint at what to do.
    """

    kind: ApproachKind
    retriever: str = ""
    cutoff: Cutoff | None = None
    prompt_mode: int | None = Field(None, ge=1, le=4, description="LLM only: 4 is description + examples")
    setup: Setup = Setup.LISTWISE
    model: str = Field(
        "", description="LLM only: the profile that is asked, see ``abcdlink.llm.profiles``; two make a cascade"
    )
    scoring: Scoring = Scoring.ANSWER
    samples: int = Field(1, ge=1)
    rule: CutoffRule | None = None

    @model_validator(mode="after")
    def _fields_fit_together(self) -> Approach:
        llm, llm_only = self.kind is ApproachKind.LLM, self.setup is Setup.LLM_ONLY
        votes = self.scoring is Scoring.VOTES
        scores = self.scoring is not Scoring.ANSWER
        asks = llm_only or scores or self.samples > 1 or self.rule is not None or bool(self.model)
        by_rule, score = llm and isinstance(self.cutoff, CutoffRule), "score by votes or by probability"
        cascade, models = CASCADE in self.model, self.model.split(CASCADE)
        two_models = len(models) == len(set(models)) == 2 and all(models)  # noqa: PLR2004
        without = "leave out set-up, model, scoring, samples and rule, or set its kind to llm"
        faults = (
            (not llm and asks, "asks no LLM", without),
            (llm and self.prompt_mode is None, "has no prompt mode", "give a prompt mode from 1 to 4"),
            (llm_only and bool(self.retriever or self.cutoff), "is LLM-only", "leave out retriever and cutoff"),
            (not llm_only and not self.retriever, "has no retriever", "name one, or use the set-up llm-only"),
            (
                not llm_only and self.cutoff is None,
                "has no cutoff",
                "give the number of targets that are links or offered",
            ),
            (by_rule, "takes the LLM's candidates by a rule", "give the number of targets that the LLM is offered"),
            (cascade and not scores, "is a cascade that cannot tell where its first model is unsure", score),
            (
                cascade and not two_models,
                "is a cascade that needs two different models",
                f"name two LLM profiles, such as small{CASCADE}large",
            ),
            (votes and self.samples == 1, "votes with one sample", "use at least 3 samples"),
            (not votes and self.samples > 1, "has several samples", "score by votes"),
            (self.rule is not None and not scores, "has no scores for a rule to cut", score),
        )
        for broken, problem, hint in faults:
            if broken:
                msg = f"approach {self.name!r} {problem}"
                raise InputError(msg, hint)
        return self

    @property
    def k(self) -> int:
        """The fixed number of targets; raises ``InputError`` if there is none."""
        if isinstance(self.cutoff, int):
            return self.cutoff
        msg = f"{self.name} has no fixed cutoff"
        raise InputError(msg, "decide its links by its fitted rule, or use the set-up llm-only")

    @property
    def asked(self) -> Approach:
        """The same approach without a rule, whose questions and scores this one uses."""
        return self.model_copy(update={"rule": None})

    @property
    def profile(self) -> str:
        """The LLM profile that this approach asks itself; for a cascade, the larger model."""
        larger = self.model.rpartition(CASCADE)[2]
        return "" if larger == DEFAULT_MODEL else larger

    @property
    def smaller(self) -> Approach | None:
        """For a cascade, the approach of the smaller model, which decides first; otherwise ``None``."""
        if CASCADE not in self.model:
            return None
        name = self.model.partition(CASCADE)[0]
        return self.model_copy(update={"model": "" if name == DEFAULT_MODEL else name, "rule": None})

    @property
    def larger(self) -> Approach:
        """For a cascade, the approach of the larger model, which decides finally; otherwise itself."""
        changed = {"model": self.profile, "scoring": Scoring.ANSWER, "samples": 1, "rule": None}
        return self.model_copy(update=changed) if self.smaller else self

    @property
    def uncut(self) -> Approach:
        """The same approach without cutoffs: equal for all that cut the same ranking or the same LLM's answers."""
        return self.model_copy(update={"cutoff": None, "rule": None})

    @property
    def name(self) -> str:
        """The name under which the approach is listed, scored and stored."""
        base = f"{self.retriever}@{self.cutoff}" if self.retriever else ""
        if self.kind is not ApproachKind.LLM:
            return base
        scoring = {Scoring.VOTES: f"-votes{self.samples}", Scoring.PROBABILITY: "-probability"}.get(self.scoring, "")
        rule = f"@{self.rule}" if self.rule else ""
        setup = "only" if self.setup is Setup.LLM_ONLY else self.setup
        return f"{base}{'+' if base else ''}{self.model or 'llm'}-{setup}-{self.prompt_mode}{scoring}{rule}"


class Decision(Record):
    """The decision of one approach on one source sentence.

    ``targets``: the decided links, best first. ``offered``: the target sentences it chose from.
    ``outcome``: whether the source could be answered; if not, ``targets`` is what is
    known and the source is counted apart. ``unknown``: offered ids that were never answered.
    ``scores``: offered id -> score from 0 to 1, if an LLM scores; unknown ids have none.
    """

    approach: str
    pair: str
    source: str
    targets: tuple[str, ...]
    offered: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    scores: dict[str, float] = Field(default_factory=dict)
    outcome: Outcome = Outcome.OK
    detail: str = ""


SAMPLES = 5
"""Answers that vote: an odd number, so that there is never a tie."""


class HowToScore(Record):
    """How an LLM's links are scored, and by which rule the scores are cut; see ``Approach``."""

    scoring: Scoring = Scoring.ANSWER
    samples: int = 1
    rule: CutoffRule | None = None


def llm_grid(
    retrievers: Sequence[str],
    cutoffs: Sequence[int],
    setups: Sequence[Setup],
    modes: Sequence[int],
    scorings: Sequence[HowToScore] = (HowToScore(),),
    models: Sequence[str] = ("",),
) -> list[Approach]:
    """Return every combination once, ordered so that questions with the same prefix stay together.

    Approaches with the same model, set-up and prompt mode show it the same instructions and the same documents, so they
    are adjacent. An LLM alone has no retriever and no cutoff, and comes once for each mode and scoring,
    however many of these there are. ``models``: LLM profiles; empty: the one of the environment. Raises ``InputError``
    when a list is empty (an LLM alone needs no retrievers and cutoffs), or a combination cannot be an approach.
    """
    offers = [setup for setup in setups if setup is not Setup.LLM_ONLY]
    needed = {"set-up": setups, "prompt mode": modes, "scoring": scorings, "model": models}
    if offers:
        needed |= {"retriever": retrievers, "cutoff": cutoffs}
    for what, values in needed.items():
        if not values:
            msg = f"a grid of LLM approaches needs at least one {what}"
            raise InputError(msg, f"name at least one {what}")
    grid: dict[str, Approach] = {}
    for model, setup, mode in product(models, setups, modes):
        places = [("", None)] if setup is Setup.LLM_ONLY else list(product(retrievers, cutoffs))
        # Only scores show when a model is unsure, so a cascade leaves out the plain answer.
        hows = [how for how in scorings if CASCADE not in model or how.scoring is not Scoring.ANSWER]
        for (retriever, cutoff), how in product(places, hows or scorings):
            approach = Approach(
                kind=ApproachKind.LLM,
                retriever=retriever,
                cutoff=cutoff,
                prompt_mode=mode,
                setup=setup,
                model=model,
                **how.model_dump(),
            )
            grid.setdefault(approach.name, approach)
    return list(grid.values())


def with_smaller(approaches: Iterable[Approach]) -> list[Approach]:
    """Return the approaches to ask, in order: the smaller model of a cascade comes first."""
    both = (one for approach in approaches for one in (approach.smaller, approach.asked) if one)
    return list({one.name: one for one in both}.values())


def waves(approaches: Iterable[Approach]) -> list[list[Approach]]:
    """Return the approaches to ask, in two steps: cascades come last.

    The larger model's questions are known only once the smaller one has decided everything.
    """
    asked = with_smaller(approaches)
    return [wave for wave in ([a for a in asked if not a.smaller], [a for a in asked if a.smaller]) if wave]


def steps(approaches: Iterable[Approach], parts: int) -> Iterator[tuple[Approach, int]]:
    """Yield (approach to ask, number of a part), each once, in the order in which to decide them.

    Approaches that differ only in their rule ask the same and come once; the smaller model of a cascade
    comes before the cascade. Neighbours with the same model, set-up and prompt mode alternate part by part, so that
    their questions on one pair follow closely. ``approaches``: ordered by ``llm_grid``; ``parts``: how
    many parts the pairs are divided into.
    """
    asked = with_smaller(approaches)
    for _, same in groupby(asked, key=lambda approach: (approach.model, approach.setup, approach.prompt_mode)):
        together = list(same)
        yield from ((approach, part) for part in range(parts) for approach in together)
