"""Approaches and what they decide."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field, model_validator

from abcdlink.corpus.records import Record
from abcdlink.errors import InputError
from abcdlink.llm.records import Outcome


class ApproachKind(StrEnum):
    """How an approach decides; also the label of its candidates."""

    RETRIEVER = "retriever"
    LEARNED = "learned"
    LLM = "llm"


class CutoffRule(StrEnum):
    """How many of a source's ranked targets are links, where that is no fixed number; see ``linking.cutoffs``."""

    THRESHOLD = "threshold"
    SHARE = "share"
    GAP = "gap"
    SOFTMAX = "softmax"
    EXPECTED_F1 = "expected-f1"


Cutoff = Annotated[int, Field(ge=1)] | CutoffRule
"""A number k of top-ranked targets, or a rule whose parameters are fitted on a corpus with gold links."""


class Approach(Record):
    """Anything that decides links, e.g. ``bm25@3``, ``hybrid@expected-f1`` or ``hybrid@7+llm-listwise-4``.

    ``retriever``: whose ranking is cut; for a learned linker its own name, as it ranks too.
    ``cutoff``: which of the ranked targets are links, or are offered to the LLM.

    Raises:
        InputError: when an LLM is offered targets by a rule.
    """

    kind: ApproachKind
    retriever: str
    cutoff: Cutoff
    prompt_mode: int | None = Field(None, ge=1, le=4, description="LLM only: 4 is description + examples")

    @model_validator(mode="after")
    def _llm_has_a_number(self) -> Approach:
        if self.kind is ApproachKind.LLM and not isinstance(self.cutoff, int):
            msg = f"an LLM cannot be offered targets by the rule {self.cutoff.value!r}"
            raise InputError(msg, "say how many targets it is offered")
        return self

    @property
    def k(self) -> int:
        """The fixed number of targets; ``InputError`` when the cutoff is a rule."""
        if isinstance(self.cutoff, int):
            return self.cutoff
        msg = f"{self.name} has no fixed cutoff"
        raise InputError(msg, "decide its links by its fitted rule")

    @property
    def name(self) -> str:
        """The name under which the approach is listed, scored and stored."""
        base = f"{self.retriever}@{self.cutoff}"
        return f"{base}+llm-listwise-{self.prompt_mode}" if self.kind is ApproachKind.LLM else base


class Decision(Record):
    """What one approach decided for one source sentence.

    ``targets``: the decided links, best first. ``offered``: the target sentences it chose among.
    ``outcome``: whether the source could be answered; where it could not, ``targets`` is what is
    known and the source is counted apart. ``unknown``: offered ids that were never answered.
    """

    approach: str
    pair: str
    source: str
    targets: tuple[str, ...]
    offered: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    outcome: Outcome = Outcome.OK
    detail: str = ""
