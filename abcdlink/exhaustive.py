"""Source sentences for which every target is judged: how they are sampled, and how many links approaches find.

Per source with gold links G and an approach's list L: recall = |L & G| / |G|, precision = |L & G| / |L|
(0 where L is empty), F1 = 2 |L & G| / (|L| + |G|); then the mean over sources, as in the paper's tables of true recall.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from pydantic import Field

from abcdlink.corpus.records import Record
from abcdlink.errors import InputError
from abcdlink.judgments import BOTH, Judgment, Label, LabelRule, by_candidate, verdict
from abcdlink.linking.records import Decision
from abcdlink.source_sample import Source
from abcdlink.statistics import MeanInterval, bootstrap_mean

EXHAUSTIVE = "exhaustive"
"""Method of a judgment that no approach proposed: every target sentence was judged."""

NO_BATCH = 0
"""Batch of an exhaustive judgment, which belongs to none."""


class View(StrEnum):
    """Which of an approach's targets are measured."""

    FULL = "full lists"
    """All that it decides."""
    POOL = "pool limits"
    """Its best ones, as many as a candidate pool takes."""


class Over(StrEnum):
    """The sources over which a mean is taken."""

    GOLD = "all sources with gold links"
    """A source for which nothing is found counts as zero."""
    SHARED = "sources with a shared target"
    """Only those for which both approaches find the same target: the paper's rows under pool limits."""


class RecallRow(Record):
    """How many links of exhaustively judged sources one approach finds, or both agree on.

    ``recall``, ``precision``, ``f1``: macro means over ``sources`` of them, in fractions of 1; ``None``
    where there is none. ``unanswered``: sources with gold that the approach (an LLM) could not answer;
    they are in no mean. ``without_gold``: answered sources that have no gold link; ``false_links``: the
    share of these for which a link is decided, ``None`` where there is none.
    """

    approach: str
    view: View
    over: Over
    sources: int
    unanswered: int
    recall: MeanInterval | None
    precision: MeanInterval | None
    f1: MeanInterval | None
    without_gold: int
    false_links: float | None

    @property
    def measures(self) -> tuple[MeanInterval | None, MeanInterval | None, MeanInterval | None]:
        """Recall, precision and F1, in this order."""
        return self.recall, self.precision, self.f1


class Recall(Record):
    """True recall of a run's approaches.

    ``with_gold``, ``without_gold``: judged sources that have a link, and that have none. ``incomplete``:
    sampled sources that too few annotators judged; they count nowhere. ``unlabelled``: targets of the
    others that have no label by the rule, such as ties; they count neither as link nor as false link.
    ``hours``: of all annotators together, where times are known.
    """

    with_gold: int
    without_gold: int
    incomplete: int
    unlabelled: int
    links: int
    rule: str
    rows: tuple[RecallRow, ...]
    notes: tuple[str, ...] = Field((), description="what is missing, and why")
    hours: float | None = None

    @property
    def words(self) -> list[str]:
        """What was judged, what is missing and how long it took, in sentences without full stops."""
        judged = (
            f"{self.with_gold} sources with links ({self.links} links, rule {self.rule}), {self.without_gold} without; "
            f"{self.incomplete} not judged by enough annotators, {self.unlabelled} targets without a label"
        )
        hours = []
        if self.hours:
            an_hour = self.links / self.hours
            hours = [f"{self.hours:.1f} annotator hours in total, {an_hour:.0f} links an hour"]
        return [judged, *hours, *self.notes]


def rows_of(result: Recall) -> list[dict[str, object]]:
    """Return what approaches find as rows of a table; measures with their 95 % intervals."""
    return [
        {
            "approach": row.approach,
            "lists": row.view.value,
            "mean over": f"{row.sources} ({row.over.value})",
            "unanswered": row.unanswered,
            **dict(zip(("recall", "precision", "F1"), map(_with_interval, row.measures), strict=True)),
            "false links": None if row.false_links is None else f"{row.false_links:.1%} of {row.without_gold}",
        }
        for row in result.rows
    ]


def _with_interval(value: MeanInterval | None) -> str | None:
    return None if value is None else f"{value.mean:.3f} ({value.low:.2f} to {value.high:.2f})"


@dataclass(frozen=True)
class ExhaustiveGold:
    """What is known of the judged sources.

    ``links``: source -> its linked targets, none for a source without links. ``unlabelled``: source ->
    targets without a label by the rule. ``incomplete``: sources that too few judged.
    """

    links: Mapping[Source, frozenset[str]]
    unlabelled: Mapping[Source, frozenset[str]] = field(default_factory=dict)
    incomplete: tuple[Source, ...] = ()

    @property
    def with_gold(self) -> list[Source]:
        """The sources that have a link."""
        return [source for source, targets in self.links.items() if targets]

    @property
    def without_gold(self) -> list[Source]:
        """The sources that were judged and have no link."""
        return [source for source, targets in self.links.items() if not targets]


def gold_of(sources: Sequence[Source], judgments: Sequence[Judgment], rule: LabelRule, needed: int) -> ExhaustiveGold:
    """Return the gold links of sampled sources; one that fewer than ``needed`` annotators judged is incomplete.

    Raises:
        InputError: by the rule ``adjudicated``: exhaustive judgments are not adjudicated.
    """
    if rule is LabelRule.ADJUDICATED:
        msg = "exhaustive judgments are not adjudicated, so they have no gold links by that rule"
        raise InputError(msg, f"use {LabelRule.BOTH} or {LabelRule.MAJORITY}")
    labels: dict[Source, dict[str, list[Label]]] = {source: {} for source in sources}
    for (pair, source, target), by_annotator in by_candidate(judgments).items():
        if (pair, source) in labels:
            labels[pair, source][target] = [judgment.label for judgment in by_annotator.values()]
    links: dict[Source, frozenset[str]] = {}
    unlabelled: dict[Source, frozenset[str]] = {}
    incomplete = []
    for at, by_target in labels.items():
        if not by_target or min(map(len, by_target.values())) < needed:
            incomplete.append(at)
            continue
        said = {target: verdict(given, rule, needed).link for target, given in by_target.items()}
        links[at] = frozenset(target for target, link in said.items() if link)
        unlabelled[at] = frozenset(target for target, link in said.items() if link is None)
    return ExhaustiveGold(links, unlabelled, tuple(incomplete))


Lists = Mapping[Source, Sequence[str]]
"""Source -> target sentences, best first; a source that could not be answered is not in it."""


def lists_of(decisions: Sequence[Decision], most: int | None = None) -> dict[Source, tuple[str, ...]]:
    """Return the decided targets of the answered sources, cut to the ``most`` best."""
    return {(one.pair, one.source): one.targets[:most] for one in decisions if one.outcome.answered}


def random_lists(targets: Mapping[Source, Sequence[str]], size: int, seed: int) -> dict[Source, tuple[str, ...]]:
    """Return ``size`` random targets of each source: what an approach that knows nothing finds.

    All, where there are fewer. The same seed gives the same targets, whatever other sources there are.
    """
    return {
        at: tuple(random.Random(f"{seed}|{at}").sample(list(known), min(size, len(known))))  # noqa: S311 - no secret
        for at, known in targets.items()
    }


def measure(
    gold: ExhaustiveGold, lists: Mapping[str, Lists], view: View, shared_by: tuple[str, str] | None = None
) -> list[RecallRow]:
    """Measure approaches, and the targets that two of them (``shared_by``) share, by both definitions of that mean.

    Lists are cut as the view says; intervals are by bootstrap over sources.

    Returns:
        A row for each approach, then, with ``shared_by``, one over all sources with gold (nothing in
        common counts 0) and one over those with a common target only.
    """
    rows = [_row(gold, name, of_one, view, Over.GOLD) for name, of_one in lists.items()]
    if shared_by:
        common = _common(*(lists[name] for name in shared_by))
        rows += [_row(gold, BOTH, common, view, over) for over in Over]
    return rows


def _common(first: Lists, second: Lists) -> dict[Source, tuple[str, ...]]:
    """Return the targets that are in both lists, of the sources that both could answer."""
    return {at: tuple(t for t in targets if t in second[at]) for at, targets in first.items() if at in second}


def _row(gold: ExhaustiveGold, name: str, lists: Lists, view: View, over: Over) -> RecallRow:
    answered = {at: set(lists[at]) - gold.unlabelled.get(at, frozenset()) for at in gold.links if at in lists}
    scored = [at for at in gold.with_gold if at in answered and (answered[at] or over is Over.GOLD)]
    without = [at for at in gold.without_gold if at in answered]
    scores = [_scores(answered[at], gold.links[at]) for at in scored]
    means = [bootstrap_mean(column) for column in zip(*scores, strict=True)]
    recall, precision, f1 = means or (None, None, None)
    return RecallRow(
        approach=name,
        view=view,
        over=over,
        sources=len(scored),
        unanswered=sum(at not in answered for at in gold.with_gold),
        recall=recall,
        precision=precision,
        f1=f1,
        without_gold=len(without),
        false_links=sum(bool(answered[at]) for at in without) / len(without) if without else None,
    )


def _scores(found: set[str], links: frozenset[str]) -> tuple[float, float, float]:
    """Return recall, precision and F1 of one source."""
    hits = len(found & links)
    return hits / len(links), hits / max(len(found), 1), 2 * hits / (len(found) + len(links))
