"""The two approaches that are taken into annotation: the best of each of two kinds, at a fair price.

Within a kind, the best by mean F1 over all sources with links (one that was not answered counts as
0) sets the mark. Among the approaches that a paired bootstrap cannot tell from it, the one with the
fewest measured seconds per 1,000 pairs is taken: annotators see no difference, the budget does.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING

from pydantic import Field, model_validator

from abcdlink.corpus.records import Record
from abcdlink.errors import InputError
from abcdlink.evaluation.comparisons import Comparison, Unit, compare_one_with_many
from abcdlink.evaluation.cutoff_choice import Lengths, choose_cutoff
from abcdlink.evaluation.results import ApproachResult
from abcdlink.linking.fitted import FittedCutoff
from abcdlink.linking.records import Approach, ApproachKind, CutoffRule

if TYPE_CHECKING:
    import pandas as pd

WORDS = {ApproachKind.RETRIEVER: "retriever", ApproachKind.LEARNED: "learned linker", ApproachKind.LLM: "LLM"}
SAME_COST = 1.1
"""Costs up to this many times the lowest count as equal: measured seconds vary by as much."""
NAMED = 3
"""So many of the approaches that cannot be told from the best are named in the reasons."""


class ShortlistRule(Record):
    """How the shortlist is chosen.

    ``kinds``: of the first and the second approach; none: a retriever and an LLM, or a retriever and a
    learned linker when no LLM was benchmarked. ``fitted_cutoffs``: whether approaches whose cutoff is
    a fitted rule may be chosen. What was fitted on synthetic pairs transfers badly to documents with
    another density of links.

    Raises:
        InputError: when both kinds are the same.
    """

    kinds: tuple[ApproachKind, ApproachKind] | None = None
    by: Unit = Field("source", description="unit of the bootstrap")
    recall_target: float = Field(0.0, ge=0, le=1, description="recall that the cutoffs are to reach; 0: none")
    fitted_cutoffs: bool = False

    @model_validator(mode="after")
    def _kinds_differ(self) -> ShortlistRule:
        if self.kinds and self.kinds[0] is self.kinds[1]:
            msg = f"both kinds of the shortlist are {self.kinds[0].value!r}"
            raise InputError(msg, "name two different kinds of retriever, learned and llm")
        return self


class Shortlist(Record):
    """Two approaches of different kinds with their cutoffs, and why these, in words.

    ``fitted``: the cutoff of each of them that cuts by a rule, by the approach's name.
    """

    first: Approach
    second: Approach
    reasons: tuple[str, ...]
    rule: ShortlistRule = ShortlistRule()
    fitted: dict[str, FittedCutoff] = Field(default_factory=dict)

    @property
    def approaches(self) -> tuple[Approach, Approach]:
        """Both approaches."""
        return self.first, self.second


def shortlist(
    results: Sequence[ApproachResult], table: pd.DataFrame, rule: ShortlistRule, lengths: Lengths
) -> Shortlist:
    """Choose one approach of each kind, see the module's text, and its cutoff, see ``choose_cutoff``.

    Of approaches that cost about the same the one with the higher F1 is taken, then the smaller
    cutoff, then the name that comes first.

    Args:
        results: what the benchmark says of each approach.
        table: the per-source scores of the same benchmark, see ``comparisons``.
        rule: how to choose.
        lengths: of the documents.

    Raises:
        InputError: when the benchmark holds no approach of a kind that may be chosen.
    """
    chosen, reasons = [], []
    with_llm = any(result.approach.kind is ApproachKind.LLM for result in results)
    second = ApproachKind.LLM if with_llm else ApproachKind.LEARNED
    for kind in rule.kinds or (ApproachKind.RETRIEVER, second):
        best, why = _best_of_kind(results, table, rule, kind)
        approach, why_cutoff = choose_cutoff(best.approach, results, rule.recall_target, lengths)
        chosen.append(approach)
        reasons += [*why, *why_cutoff]
    return Shortlist(first=chosen[0], second=chosen[1], reasons=tuple(reasons), rule=rule)


def _best_of_kind(
    results: Sequence[ApproachResult], table: pd.DataFrame, rule: ShortlistRule, kind: ApproachKind
) -> tuple[ApproachResult, list[str]]:
    """Return the approach of one kind that is taken, and why, in words."""
    order, left_out = _eligible(results, rule, kind)
    best = order[0]
    comparisons = compare_one_with_many(table, best.approach.name, [r.approach.name for r in order[1:]], rule.by)
    alike = [c for c in comparisons if not c.told_apart]
    names = {best.approach.name, *(comparison.b for comparison in alike)}
    close = [result for result in order if result.approach.name in names]
    lowest = min(result.seconds_per_1000_pairs for result in close)
    taken = next(result for result in close if result.seconds_per_1000_pairs <= SAME_COST * lowest)

    count = f"{len(order)} {WORDS[kind]} approach{'es' if len(order) > 1 else ''}"
    reasons = [f"{best.approach.name} has the highest mean F1 of {count}: {_scores(best)}."]
    if len(order) > 1:
        reasons.append(_said_of_alike(best, comparisons, alike, rule.by))
    if taken is not best:
        reasons.append(
            f"{taken.approach.name} is taken instead, as it costs less: {_cost(taken)} per 1,000 pairs, "
            f"{best.approach.name} {_cost(best)}. Its scores: {_scores(taken)}."
        )
    elif alike:
        reasons.append(f"None of these costs clearly less than {best.approach.name}: {_cost(best)} per 1,000 pairs.")
    missing = taken.sources - taken.answered
    if missing:
        reasons.append(f"{taken.approach.name} did not answer {missing} source(s); they count as 0 here.")
    if left_out:
        reasons.append(f"{left_out} approach(es) with a fitted cutoff were left out: such cutoffs transfer badly.")
    if taken.fitted:
        reasons.append(f"{taken.approach.name} was {taken.fitted}.")
    return taken, reasons


def _eligible(
    results: Sequence[ApproachResult], rule: ShortlistRule, kind: ApproachKind
) -> tuple[list[ApproachResult], int]:
    """Return what may be chosen, best first, and how many were left out for their fitted cutoff."""
    of_kind = [result for result in results if result.approach.kind is kind]
    if not of_kind:
        msg = f"the benchmark holds no {WORDS[kind]} approach"
        raise InputError(msg, "benchmark at least one, or let the shortlist rule name other kinds")
    eligible = [result for result in of_kind if rule.fitted_cutoffs or not _has_fitted_cutoff(result.approach)]
    if not eligible:
        msg = f"every {WORDS[kind]} approach of the benchmark has a fitted cutoff"
        raise InputError(msg, "benchmark one with a fixed cutoff, or let the shortlist rule take fitted cutoffs")
    order = sorted(eligible, key=lambda r: (-r.f1_of_all, _size(r.approach), r.approach.name))
    return order, len(of_kind) - len(eligible)


def _has_fitted_cutoff(approach: Approach) -> bool:
    return isinstance(approach.cutoff, CutoffRule) or approach.rule is not None


def _size(approach: Approach) -> float:
    """Return the cutoff; one that is no fixed number comes after all numbers."""
    return approach.cutoff if isinstance(approach.cutoff, int) else inf


def _said_of_alike(
    best: ApproachResult, comparisons: Sequence[Comparison], alike: Sequence[Comparison], by: Unit
) -> str:
    """Say which approaches cannot be told from the best, or how far the next one is."""
    how = f"95 % interval of the difference in F1, resampled by {by}"
    if not alike:
        return f"It is clearly better than the others ({how}); the next is {_difference(comparisons[0])}."
    named = "; ".join(_difference(comparison) for comparison in alike[:NAMED])
    more = f"; and {len(alike) - NAMED} more" if len(alike) > NAMED else ""
    return f"{len(alike)} other(s) cannot be told from {best.approach.name} ({how}): {named}{more}."


def _difference(comparison: Comparison) -> str:
    lower, low, high = (100 * getattr(comparison.difference, name) for name in ("mean", "low", "high"))
    return f"{comparison.b}, {lower:.1f} points lower ({low:.1f} to {high:.1f})"


def _scores(result: ApproachResult) -> str:
    return (
        f"{result.f1_of_all:.1%} (precision {result.precision:.1%}, recall {result.recall:.1%}, "
        f"{result.sources} sources with links)"
    )


def _cost(result: ApproachResult) -> str:
    seconds = result.seconds_per_1000_pairs
    return f"{seconds:,.0f} seconds" if seconds >= 10 else f"{seconds:.2g} seconds"  # noqa: PLR2004 - two digits
