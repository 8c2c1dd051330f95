"""Which approaches are worth a place beside one that is taken: those that decide other links.

Where two approaches decide nearly the same, people judge candidates that both propose, which neither compare the two
nor add links. A fusion such as ``hybrid`` may decide nearly what one of its parts does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from abcdlink.errors import InputError
from abcdlink.evaluation.reasons import WORDS
from abcdlink.evaluation.results import ApproachResult
from abcdlink.linking.records import Approach, ApproachKind, Decision

Decided = Callable[[Approach], Sequence[Decision]]
"""Returns what an approach decided in the benchmark."""
MOST_IN_COMMON = 2 / 3
"""With more links in common, there are two candidates that both propose for each that can tell the two apart.

At the first 3 targets, ``hybrid`` and its part MiniLM have 50 to 82 % in common, the more the shorter the documents,
BM25 on stems and Jaccard similarity 70 to 95 %, and BM25 as in the paper at most 57 % with any of these."""


def in_common(a: Sequence[Decision], b: Sequence[Decision]) -> float:
    """Return the share of links that both decide among those that either decides; 0 when there is none."""
    first, second = (
        {(one.pair, one.source, target) for one in decisions for target in one.targets} for decisions in (a, b)
    )
    return len(first & second) / max(len(first | second), 1)


def beside(
    taken: Approach, order: Sequence[ApproachResult], decided: Decided
) -> tuple[list[ApproachResult], list[str]]:
    """Leave out what decides (nearly) the same as the approach that is taken; return the rest, and why, in words.

    What cuts the same ranking or the same LLM's answers goes together, and is compared where the taken one is cut. A
    retriever and an LLM always go together, as the LLM decides on what a retriever proposes.

    Raises:
        InputError: when there is nothing but the same at other cutoffs.
    """
    others = [result for result in order if result.approach.uncut != taken.uncut]
    if not others:
        msg = f"the benchmark has no second {WORDS[taken.kind]} approach beside {taken.name}, at other cutoffs at most"
        raise InputError(msg, "benchmark another one, or let the shortlist rule name another kind")
    uncut = len(order) - len(others)
    reasons = [f"Left out: {uncut} that only cut the ranking or answers of {taken.name} elsewhere."] if uncut else []
    kind = others[0].approach.kind
    if kind is not taken.kind and ApproachKind.LLM in {kind, taken.kind}:
        return others, reasons
    same = _nearly_the_same(taken, [result.approach for result in others], decided)
    rest = [result for result in others if not any(result.approach.uncut == one.uncut for one, _ in same)]
    if same:
        what = f"decide nearly the same as {taken.name} (over two thirds of the links of either are of both)"
        named = ", ".join(f"{one.name} {share:.0%}" for one, share in same)
        if rest:
            reasons.append(f"Left out: {len(others) - len(rest)} that {what}: {named}.")
        else:
            reasons.append(f"All others {what}: {named}. So most judgments will not tell the two apart.")
    return rest or others, reasons


def _nearly_the_same(taken: Approach, others: Sequence[Approach], decided: Decided) -> list[tuple[Approach, float]]:
    """Return what decides nearly the same, one approach for all that cut one ranking, with the share in common."""
    compared: list[Approach] = []
    for approach in sorted(others, key=lambda one: (one.cutoff, one.rule) != (taken.cutoff, taken.rule)):
        if all(approach.uncut != one.uncut for one in compared):
            compared.append(approach)
    own = decided(taken)
    shares = [(approach, in_common(own, decided(approach))) for approach in compared]
    return [(approach, share) for approach, share in shares if share > MOST_IN_COMMON]
