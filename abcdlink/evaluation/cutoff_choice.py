"""The cutoff of a shortlisted approach: by a recall target, and by the length of the documents to be annotated."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from pydantic import Field

from abcdlink.corpus.records import Corpus, Record
from abcdlink.errors import InputError
from abcdlink.evaluation.results import ApproachResult
from abcdlink.linking.records import Approach, ApproachKind

MOST_SCALING = 2
"""Longer documents raise a cutoff to this many times itself at most: annotators read every candidate."""


class Lengths(Record):
    """Mean number of target sentences of a pair: in the benchmark, and in the pairs to be annotated."""

    benchmark: float = Field(gt=0)
    annotated: float = Field(gt=0)


def mean_target_sentences(corpus: Corpus) -> float:
    """Return the mean number of target sentences of a pair; ``InputError`` when there is no pair."""
    if not corpus.pairs:
        msg = f"the corpus {corpus.name!r} has no pairs"
        raise InputError(msg, "give it at least one pair")
    return sum(len(corpus.target_of(pair).sentences) for pair in corpus.pairs) / len(corpus.pairs)


def choose_cutoff(
    approach: Approach, results: Sequence[ApproachResult], recall_target: float, lengths: Lengths
) -> tuple[Approach, list[str]]:
    """Return an approach with the cutoff that it gets in annotation, and why this one, in words.

    With a recall target, k is the smallest benchmarked cutoff at which the recall of the approach's
    retriever reaches it (for an LLM this recall bounds what it can find), or the largest one when none
    does. Then k is scaled by how much longer the documents to be annotated are: rounded up, never
    below k, and twice k at most. Without a recall target (0) the benchmarked cutoff stays.
    """
    if not isinstance(approach.cutoff, int):
        return approach, [f"{approach.name} has no fixed cutoff, so that a recall target does not apply."]
    if not recall_target:
        return approach, [f"Cutoff {approach.cutoff}, as benchmarked: {_meaning(approach)}."]
    recalls = {
        result.approach.k: result.recall
        for result in results
        if result.approach.kind is not ApproachKind.LLM
        and result.approach.retriever == approach.retriever
        and isinstance(result.approach.cutoff, int)
    }
    if not recalls:
        why = f"the recall of {approach.retriever} was not benchmarked at any cutoff"
        return approach, [f"Cutoff {approach.cutoff}, as benchmarked, since {why}."]
    reaching = [k for k, recall in recalls.items() if recall >= recall_target]
    by_recall = min(reaching, default=max(recalls))
    k = min(max(by_recall, ceil(by_recall * lengths.annotated / lengths.benchmark)), MOST_SCALING * by_recall)
    found = f"recall of {approach.retriever} at {by_recall} is {recalls[by_recall]:.1%}"
    reached = f"is the smallest benchmarked one that reaches the recall target of {recall_target:.1%}"
    missed = f"is the largest benchmarked one; none reaches the recall target of {recall_target:.1%}"
    why_recall = f"Cutoff {by_recall} {reached if reaching else missed}: {found}."
    why_length = (
        f"The documents to be annotated have {lengths.annotated:.1f} target sentences on average, those of the "
        f"benchmark {lengths.benchmark:.1f}, so that the cutoff {f'becomes {k}' if k > by_recall else 'stays'}: "
        f"{_meaning(approach)}."
    )
    return approach.model_copy(update={"cutoff": k}), [why_recall, why_length]


def _meaning(approach: Approach) -> str:
    """Say what a cutoff is for."""
    return "the LLM decides on as many" if approach.kind is ApproachKind.LLM else "as many top-ranked targets are links"
