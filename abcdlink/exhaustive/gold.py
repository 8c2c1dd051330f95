"""The gold links of exhaustively judged sources, by a label rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from abcdlink.errors import InputError
from abcdlink.exhaustive.records import Source
from abcdlink.judgments import Judgment, Label, LabelRule, by_candidate, verdict


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
    """Return the gold links of sampled sources.

    Args:
        sources: the sampled ones.
        judgments: one for each annotator, source and target sentence.
        rule: what makes a judged target a link.
        needed: annotators who must have judged a source; where there are fewer, it is incomplete.

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
