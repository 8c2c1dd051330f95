"""Why the approaches of a shortlist were chosen, in words for people."""

from __future__ import annotations

from collections.abc import Sequence

from abcdlink.evaluation.comparisons import Comparison, Unit
from abcdlink.evaluation.results import ApproachResult
from abcdlink.linking.records import Approach, ApproachKind

WORDS = {ApproachKind.RETRIEVER: "retriever", ApproachKind.LEARNED: "learned linker", ApproachKind.LLM: "LLM"}
NAMED = 3
"""Most approaches to name among those that cannot be told from the best."""


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
    return f"Not clearly worse than {best.approach.name} ({how}): {named}{more}."


def _difference(comparison: Comparison) -> str:
    lower, low, high = (100 * getattr(comparison.difference, name) for name in ("mean", "low", "high"))
    return f"{comparison.b}, {lower:.1f} points lower ({low:.1f} to {high:.1f})"


def scores_of(result: ApproachResult) -> str:
    """Return the scores of an approach, in words."""
    return (
        f"{result.f1_of_all:.1%} (precision {result.precision:.1%}, recall {result.recall:.1%}, "
        f"{result.sources} sources with links)"
    )


def cost_of(result: ApproachResult) -> str:
    """Return the seconds that 1,000 pairs take on this machine, in words."""
    seconds = result.seconds_per_1000_pairs
    return f"{seconds:,.0f} seconds" if seconds >= 10 else f"{seconds:.2g} seconds"  # noqa: PLR2004 - two digits


def said_of_choice(
    best: ApproachResult,
    taken: ApproachResult,
    cheapest: ApproachResult,
    comparisons: Sequence[Comparison],
    by: Unit,
    count: int,
) -> list[str]:
    """Say which of ``count`` approaches of one kind is best, and why it, or a cheaper equivalent, was chosen."""
    alike = [comparison for comparison in comparisons if not comparison.told_apart]
    approaches = f"{count} {WORDS[best.approach.kind]} approach{'es' if count > 1 else ''}"
    reasons = [f"{best.approach.name} has the highest mean F1 of {approaches}: {scores_of(best)}."]
    if comparisons:
        reasons.append(said_of_alike(best, comparisons, alike, by))
    if taken is not best:
        reasons.append(
            f"{taken.approach.name} was chosen instead, because it costs less: {cost_of(taken)} per 1,000 pairs, "
            f"{best.approach.name} {cost_of(best)}. Its scores: {scores_of(taken)}."
        )
    elif cheapest is not best:
        reasons.append(
            f"{cheapest.approach.name} costs less, but {best.sources} source sentences are too few to show what it "
            "would lose, so cost does not decide."
        )
    elif alike:
        reasons.append(f"None of these costs clearly less than {best.approach.name}: {cost_of(best)} per 1,000 pairs.")
    missing = taken.sources - taken.answered
    if missing:
        reasons.append(f"{taken.approach.name} did not answer {missing} source(s); they count as 0 here.")
    return reasons


def said_of_cutoff(
    chosen: Approach, by_recall: int, recall: float, target: float, lengths: tuple[float, float]
) -> list[str]:
    """Explain an approach's cutoff in annotation.

    ``by_recall`` is the benchmarked cutoff that was chosen for its recall, where ``target`` was wanted. ``lengths``:
    mean number of target sentences in the benchmark, and in the documents to annotate.
    """
    found = f"recall of {chosen.retriever} at {by_recall} is {recall:.1%}"
    reached = f"is the smallest benchmarked one that reaches the recall target of {target:.1%}"
    missed = f"is the largest benchmarked one; none reaches the recall target of {target:.1%}"
    benchmark, annotated = lengths
    now = f"becomes {chosen.k}" if chosen.k > by_recall else "stays"
    length = (
        f"The documents to annotate have {annotated:.1f} target sentences on average, those of the "
        f"benchmark {benchmark:.1f}, so the cutoff {now}: {what_a_cutoff_is_for(chosen)}."
    )
    return [f"Cutoff {by_recall} {reached if recall >= target else missed}: {found}.", length]


def what_a_cutoff_is_for(approach: Approach) -> str:
    """Say what the number of an approach's cutoff means."""
    return "the LLM decides on as many" if approach.kind is ApproachKind.LLM else "as many top-ranked targets are links"
