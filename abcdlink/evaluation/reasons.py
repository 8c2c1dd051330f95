"""Why approaches were shortlisted, in words."""

from __future__ import annotations

from collections.abc import Sequence

from abcdlink.evaluation.comparisons import Comparison, Unit
from abcdlink.evaluation.results import ApproachResult

NAMED = 3
"""So many of the approaches that cannot be told from the best are named."""


def said_of_named(result: ApproachResult) -> list[str]:
    """Say what a named approach scores and costs."""
    name = result.approach.name
    reasons = [f"{name} was named. Its mean F1 is {scores_of(result)}; it costs {cost_of(result)} per 1,000 pairs."]
    return [*reasons, f"{name} was {result.fitted}."] if result.fitted else reasons


def said_of_alike(
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


def scores_of(result: ApproachResult) -> str:
    """Say what an approach scores."""
    return (
        f"{result.f1_of_all:.1%} (precision {result.precision:.1%}, recall {result.recall:.1%}, "
        f"{result.sources} sources with links)"
    )


def cost_of(result: ApproachResult) -> str:
    """Say how many seconds of this machine 1,000 pairs take."""
    seconds = result.seconds_per_1000_pairs
    return f"{seconds:,.0f} seconds" if seconds >= 10 else f"{seconds:.2g} seconds"  # noqa: PLR2004 - two digits
