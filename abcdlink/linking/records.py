"""Approaches and what they decide."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from abcdlink.corpus.records import Record
from abcdlink.llm.records import Outcome


class ApproachKind(StrEnum):
    """How an approach decides; also the label of its candidates."""

    RETRIEVER = "retriever"
    LLM = "llm"


class Approach(Record):
    """Anything that decides links, e.g. ``bm25@3`` or ``hybrid@7+llm-listwise-4``.

    ``cutoff``: how many top-ranked targets are links (retriever), or are offered to the LLM.
    """

    kind: ApproachKind
    retriever: str
    cutoff: int = Field(ge=1)
    prompt_mode: int | None = Field(None, ge=1, le=4, description="LLM only: 4 is description + examples")

    @property
    def name(self) -> str:
        """The name under which the approach is listed, scored and stored."""
        base = f"{self.retriever}@{self.cutoff}"
        return base if self.kind is ApproachKind.RETRIEVER else f"{base}+llm-listwise-{self.prompt_mode}"


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
