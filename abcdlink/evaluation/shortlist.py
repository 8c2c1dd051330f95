"""The two approaches that are taken into annotation: the best retriever and the best LLM approach."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from abcdlink.corpus.records import Record
from abcdlink.errors import InputError
from abcdlink.linking.records import Approach, ApproachKind

WORDS = {ApproachKind.RETRIEVER: "retriever", ApproachKind.LLM: "retriever + LLM"}


class ApproachResult(Record):
    """How one approach did on a benchmark: macro means over the answered sources, in fractions of 1."""

    approach: Approach
    precision: float = Field(ge=0, le=1)
    recall: float = Field(ge=0, le=1)
    f1: float = Field(ge=0, le=1)
    sources: int = Field(ge=0, description="sources with links")
    answered: int = Field(ge=0, description="sources with links that could be answered")
    seconds: float = Field(0.0, ge=0, description="time it took")

    @property
    def f1_of_all(self) -> float:
        """Mean F1 when a source that was not answered counts as 0: failures must not win."""
        return self.f1 * self.answered / self.sources if self.sources else 0.0


class Shortlist(Record):
    """Two approaches of different kinds with their cutoffs, and why these, in words."""

    first: Approach
    second: Approach
    reasons: tuple[str, ...]


def shortlist(results: Sequence[ApproachResult]) -> Shortlist:
    """Take the best retriever (``first``) and the best LLM approach (``second``).

    Best is the highest mean F1, a source that was not answered counting as 0; among equals the
    smaller cutoff, then the name that comes first.

    Raises:
        InputError: when there is no result of one of the two kinds.
    """
    first, why_first = _best(results, ApproachKind.RETRIEVER)
    second, why_second = _best(results, ApproachKind.LLM)
    return Shortlist(first=first, second=second, reasons=(*why_first, *why_second))


def _best(results: Sequence[ApproachResult], kind: ApproachKind) -> tuple[Approach, list[str]]:
    """Return the best approach of one kind and the reasons."""
    of_kind = [result for result in results if result.approach.kind is kind]
    if not of_kind:
        msg = f"the benchmark holds no {WORDS[kind]} approach"
        raise InputError(msg, "benchmark at least one approach of each kind")
    order = sorted(of_kind, key=lambda r: (-r.f1_of_all, r.approach.cutoff, r.approach.name))
    best = order[0]
    use = "its top-ranked targets are links" if kind is ApproachKind.RETRIEVER else "the LLM decides on as many"
    reasons = [
        (
            f"{best.approach.name} has the highest mean F1 of {len(order)} {WORDS[kind]} approach(es): "
            f"{_percent(best.f1_of_all)} (precision {_percent(best.precision)}, recall {_percent(best.recall)}, "
            f"{best.sources} sources with links). Cutoff {best.approach.cutoff}: {use}."
        )
    ]
    if best.answered < best.sources:
        missing = best.sources - best.answered
        reasons.append(f"{best.approach.name} did not answer {missing} source(s); they count as 0 here.")
    if len(order) > 1:
        reasons.append(f"Next to {best.approach.name}: {order[1].approach.name}, {_percent(order[1].f1_of_all)}.")
    return best.approach, reasons


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.1f} %"
