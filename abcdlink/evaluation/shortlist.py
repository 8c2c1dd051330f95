"""The approaches that go into annotation: the best of each of two kinds, cost considered, or named ones.

Within a kind, the best by mean F1 over all sources with links (one that was not answered counts as
0) sets the mark. Among the approaches that a paired bootstrap cannot tell from it, the one with the
fewest measured seconds per 1,000 pairs is taken: annotators see no difference, the budget does.
Where both are to be of one kind, the second is the best of those that do not decide nearly the same
as the first (see ``beside``).

A cutoff is chosen by a recall target, and by the length of the documents to be annotated.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from math import ceil, inf
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, field_validator, model_validator

from abcdlink.corpus.records import Corpus, Record
from abcdlink.errors import InputError
from abcdlink.evaluation.beside import Decided, beside
from abcdlink.evaluation.comparisons import Unit, compare_one_with_many
from abcdlink.evaluation.reasons import WORDS, said_of_choice, said_of_cutoff, said_of_named, what_a_cutoff_is_for
from abcdlink.evaluation.results import ApproachResult
from abcdlink.linking.fitted import FittedCutoff
from abcdlink.linking.records import Approach, ApproachKind, CutoffRule

if TYPE_CHECKING:
    import pandas as pd


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
        raise InputError(msg, "use a corpus with at least one pair")
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
        return approach, [f"{approach.name} has no fixed cutoff, so a recall target does not apply."]
    if not recall_target:
        return approach, [f"Cutoff {approach.cutoff}, as benchmarked: {what_a_cutoff_is_for(approach)}."]
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
    chosen = approach.model_copy(update={"cutoff": k})
    reasons = said_of_cutoff(
        chosen, by_recall, recalls[by_recall], recall_target, (lengths.benchmark, lengths.annotated)
    )
    return chosen, reasons


ENOUGH_SOURCES = 50
"""With fewer source sentences, indistinguishable approaches may still differ, so cost does not decide."""
SAME_COST = 1.1
"""Costs up to this factor above the lowest count as equal: measured seconds vary that much."""


MOST_SUGGESTED = 3
"""Most approaches to suggest in place of one that the benchmark lacks."""


Named = Annotated[str, Field(pattern=r"^\S+$")]


class ShortlistRule(Record):
    """How the approaches that propose candidates are chosen: two, or one where nothing is compared.

    Raises:
        InputError: when the fields do not fit together.
    """

    approaches: tuple[Named, ...] = Field(
        (),
        json_schema_extra={"maxItems": 2},
        description="Choose these, named as in the benchmark's table, such as bm25@3 and hybrid@7+llm-listwise-4; "
        "empty: the best of each kind.",
    )
    kinds: tuple[ApproachKind, ...] = Field(
        (),
        json_schema_extra={"maxItems": 2},
        description="Kinds of the first and the second approach, which may be the same kind twice; empty: a retriever "
        "and an LLM, or a retriever and a learned linker when no LLM was asked.",
    )
    by: Unit = Field(
        "source",
        title="Resampled",
        description="What is resampled to tell approaches apart: source sentences or pairs.",
    )
    recall_target: float = Field(
        0.0, ge=0, le=1, description="Recall that the cutoffs should reach; 0: as benchmarked."
    )
    fitted_cutoffs: bool = Field(
        default=False,
        description="Allow cutoffs by rule. Fitted on synthetic pairs, they may not suit natural ones.",
    )

    @field_validator("approaches", "kinds", mode="before")
    @classmethod
    def _none_is_empty(cls, value: Any) -> Any:  # noqa: ANN401 - stored rules may have null
        return () if value is None else value

    @model_validator(mode="after")
    def _fields_fit_together(self) -> ShortlistRule:
        for what, named in (("approaches", self.approaches), ("kinds", self.kinds)):
            if len(named) > 2:  # noqa: PLR2004 - two can be compared
                msg = f"{len(named)} {what} are named for the shortlist"
                raise InputError(msg, "name two, or one for candidates without a comparison")
        if len(set(self.approaches)) < len(self.approaches):
            msg = f"the shortlist names {self.approaches[0]} twice"
            raise InputError(msg, "name two different approaches, or one")
        if self.approaches and (self.kinds or self.recall_target):
            msg = "the shortlist names approaches, and kinds or a recall target as well"
            raise InputError(msg, "leave out the kinds and the recall target: named approaches are taken as they are")
        return self


class Shortlist(Record):
    """Two approaches with their cutoffs, or one, and why these, in words.

    ``fitted``: the cutoff of each of them that cuts by a rule, by the approach's name.
    """

    first: Approach
    second: Approach | None = None
    reasons: tuple[str, ...]
    rule: ShortlistRule = ShortlistRule()
    fitted: dict[str, FittedCutoff] = Field(default_factory=dict)

    @property
    def approaches(self) -> tuple[Approach, ...]:
        """The approaches, one or two."""
        return (self.first, self.second) if self.second else (self.first,)

    @property
    def labels(self) -> dict[str, Approach]:
        """Method -> the approach that alone proposed its candidates.

        Methods are named by kind, or where both approaches are of one kind by the approaches' names.
        """
        by_kind = {approach.kind.value: approach for approach in self.approaches}
        if len(by_kind) == len(self.approaches):
            return by_kind
        return {approach.name: approach for approach in self.approaches}


def shortlist(
    results: Sequence[ApproachResult],
    table: pd.DataFrame,
    rule: ShortlistRule,
    lengths: Lengths,
    decided: Decided,
) -> Shortlist:
    """Choose one approach of each kind, see the module's text, and its cutoff, see ``choose_cutoff``.

    Of approaches that cost about the same the one with the higher F1 is taken, then the smaller cutoff, then the name
    that comes first. ``table``: the per-source scores of the same benchmark, see ``comparisons``; ``decided``: asked
    only where a second approach is chosen beside a first.

    Raises:
        InputError: when the benchmark has no approach of a name or kind that may be chosen.
    """
    if rule.approaches:
        named = [_find(results, name) for name in rule.approaches]
        _refuse_one_ranking([one.approach for one in named])
        reasons = [reason for one in named for reason in said_of_named(one)]
        return _shortlist([one.approach for one in named], reasons, rule)
    chosen: list[Approach] = []
    reasons = []
    taken: Approach | None = None
    with_llm = any(result.approach.kind is ApproachKind.LLM for result in results)
    second = ApproachKind.LLM if with_llm else ApproachKind.LEARNED
    for kind in rule.kinds or (ApproachKind.RETRIEVER, second):
        order, left_out = _eligible(results, rule, kind)
        order, same = beside(taken, order, decided) if taken else (order, [])
        best, why = _best(order, table, rule.by)
        why += [*same, *left_out]
        if best.fitted:
            why.append(f"{best.approach.name} was {best.fitted}.")
        taken = best.approach
        approach, why_cutoff = choose_cutoff(best.approach, results, rule.recall_target, lengths)
        chosen.append(approach)
        reasons += [*why, *why_cutoff]
    return _shortlist(chosen, reasons, rule)


def _shortlist(approaches: Sequence[Approach], reasons: Sequence[str], rule: ShortlistRule) -> Shortlist:
    first, second = (*approaches, None)[:2]
    return Shortlist(first=first, second=second, reasons=tuple(reasons), rule=rule)


def _best(order: Sequence[ApproachResult], table: pd.DataFrame, by: Unit) -> tuple[ApproachResult, list[str]]:
    """Return the first approach or a cheaper one that cannot be told from it, and why, in words."""
    best = order[0]
    comparisons = compare_one_with_many(table, best.approach.name, [r.approach.name for r in order[1:]], by)
    alike = [c for c in comparisons if not c.told_apart]
    names = {best.approach.name, *(comparison.b for comparison in alike)}
    close = [result for result in order if result.approach.name in names]
    lowest = min(result.seconds_per_1000_pairs for result in close)
    cheapest = next(result for result in close if result.seconds_per_1000_pairs <= SAME_COST * lowest)
    taken = cheapest if best.sources >= ENOUGH_SOURCES else best
    return taken, said_of_choice(best, taken, cheapest, comparisons, by, len(order))


def _eligible(
    results: Sequence[ApproachResult], rule: ShortlistRule, kind: ApproachKind
) -> tuple[list[ApproachResult], list[str]]:
    """Return what may be chosen, best first, and what was left out for its fitted cutoff, in words."""
    of_kind = [result for result in results if result.approach.kind is kind]
    if not of_kind:
        msg = f"the benchmark has no {WORDS[kind]} approach"
        raise InputError(msg, "benchmark at least one, or let the shortlist rule name other kinds")
    fixed = [r for r in of_kind if not isinstance(r.approach.cutoff, CutoffRule) and r.approach.rule is None]
    eligible = of_kind if rule.fitted_cutoffs else fixed
    if not eligible:
        msg = f"every {WORDS[kind]} approach of the benchmark has a fitted cutoff"
        raise InputError(msg, "benchmark one with a fixed cutoff, or let the shortlist rule take fitted cutoffs")
    order = sorted(eligible, key=lambda r: (-r.f1_of_all, _size(r.approach), r.approach.name))
    left_out = len(of_kind) - len(eligible)
    said = f"Left out: {left_out} with a fitted cutoff, as such cutoffs transfer badly."
    return order, [said] if left_out else []


def _find(results: Sequence[ApproachResult], name: str) -> ApproachResult:
    """Return what the benchmark says of a named approach; ``InputError`` when it holds none of this name."""
    by_name = {result.approach.name: result for result in results}
    if name in by_name:
        return by_name[name]
    close = get_close_matches(name, by_name, MOST_SUGGESTED, cutoff=0) or ["nothing"]
    msg = f"the benchmark has no approach {name!r}"
    raise InputError(msg, f"name one of those it lists, such as {', '.join(close)}")


def _refuse_one_ranking(approaches: Sequence[Approach]) -> None:
    """Raise ``InputError`` when two named approaches cut one ranking: one proposes nothing that the other does not."""
    ranks = approaches[0].kind is not ApproachKind.LLM
    if len(approaches) == 2 and approaches[0].uncut == approaches[1].uncut and ranks:  # noqa: PLR2004
        msg = f"{approaches[0].name} and {approaches[1].name} cut the same ranking"
        raise InputError(msg, "name approaches with different retrievers: the first targets of these two are the same")


def _size(approach: Approach) -> float:
    """Return the cutoff; one that is not a fixed number sorts after all numbers."""
    return approach.cutoff if isinstance(approach.cutoff, int) else inf
