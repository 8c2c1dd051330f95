"""Which candidates annotators see: what approaches propose, by mode; random ones beside them; in which batch."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from abcdlink.corpus.records import Document, Pair, Record
from abcdlink.domain import PoolSizes, SourceFilter
from abcdlink.errors import InputError, counted
from abcdlink.judgments import BOTH, RANDOM
from abcdlink.linking.records import Decision


class PoolMode(StrEnum):
    """What a pool is made for: to compare two approaches, or to find links."""

    COMPARISON = "comparison"
    """The first targets of each approach, equally many whatever it decides, and random distractors."""
    SINGLE = "single"
    """All that the first approach decides."""
    INTERSECTION = "intersection"
    """What both approaches decide."""
    UNION = "union"
    """What either approach decides."""
    BUDGET = "budget"
    """By the probabilities of a learned linker, over the whole corpus, as many as a budget buys."""

    @property
    def approaches(self) -> int:
        """How many approaches propose."""
        return 1 if self in {PoolMode.SINGLE, PoolMode.BUDGET} else 2

    @property
    def nothing(self) -> str:
        """Why a source sentence has no candidate, in words."""
        by = {PoolMode.SINGLE: "the approach", PoolMode.INTERSECTION: "both approaches"}
        return f"nothing proposed by {by.get(self, 'either approach')}"


class Next(StrEnum):
    """Which pairs are judged next."""

    RANDOM = "random"
    LINKS = "links"
    """Those in which the budget is expected to find most links."""
    UNCERTAIN = "uncertain"
    """Those whose candidates the linker is least sure of, so that it learns most."""


@dataclass(frozen=True)
class Proposals:
    """What one approach decided, and the label under which candidates of it alone are known."""

    label: str
    decisions: Sequence[Decision]


class PoolRules(Record):
    """What is shown to annotators.

    ``sizes``: how many targets of each approach, in a comparison. Elsewhere an approach's cutoff alone says
    how many it decides.
    """

    mode: PoolMode = PoolMode.COMPARISON
    sizes: PoolSizes = PoolSizes()
    sources: SourceFilter = SourceFilter()

    def check(self, proposals: Sequence[Proposals]) -> None:
        """Raise ``InputError`` when there are not as many approaches as the mode wants, or labels are not distinct."""
        labels = [one.label for one in proposals]
        if len(labels) != self.mode.approaches:
            wanted = counted(self.mode.approaches, "approach", "approaches")
            msg = f"the mode {self.mode.value!r} needs {wanted}, not {len(labels)}"
            raise InputError(msg, "shortlist as many, or choose another mode")
        if len({*labels, BOTH, RANDOM}) != len(labels) + 2:
            msg = f"the labels {labels} are not all different, or are names that abcdlink uses itself"
            raise InputError(msg, f"give each approach a label of its own, other than {BOTH} and {RANDOM}")

    def methods(self, labels: Sequence[str], decided: Sequence[Sequence[str]]) -> dict[str, str]:
        """Return shown target -> method: the label of the approach that shows it, or ``both``.

        Args:
            labels: of the approaches.
            decided: the targets that each of them decided, best first, none twice.
        """
        limits = (self.sizes.first, self.sizes.second) if self.mode is PoolMode.COMPARISON else (None, None)
        shown_by: defaultdict[str, list[str]] = defaultdict(list)
        for label, targets, limit in zip(labels, decided, limits, strict=False):
            for target in targets[:limit]:
                shown_by[target].append(label)
        methods = {target: found[0] if len(found) == 1 else BOTH for target, found in shown_by.items()}
        if self.mode is PoolMode.INTERSECTION:
            return {target: method for target, method in methods.items() if method == BOTH}
        return methods


class Distractors(Protocol):
    """Chooses the distractors of one source sentence; the same arguments give the same choice."""

    def __call__(self, pair: Pair, source: str, target: Document, decided: Collection[str]) -> Sequence[str]:
        """Return ids of target sentences.

        Args:
            pair: the pair.
            source: the source sentence.
            target: the target document.
            decided: ids that an approach decided at any rank, shown or not.
        """


def sampled(size: int, seed: int) -> Distractors:
    """Return a choice of ``size`` sentences at random; fewer when the document is short.

    A sentence that repeats the words of a decided one is as good a link as that, and is not chosen. Each
    source sentence has a generator of its own, seeded by its ids: other pairs do not change its distractors.
    """

    def choose(pair: Pair, source: str, target: Document, decided: Collection[str]) -> Sequence[str]:
        texts = {target.text_of(sentence).strip() for sentence in decided}
        rest = [sentence.id for sentence in target.sentences if sentence.text.strip() not in texts]
        chooser = random.Random(f"{seed}|{pair.id}|{source}")  # noqa: S311 - no secret
        return chooser.sample(rest, min(size, len(rest)))

    return choose


def given(picks: Mapping[tuple[str, str], Sequence[str]]) -> Distractors:
    """Return the distractors that were picked before: (pair, source sentence) -> ids; none where it names none."""

    def choose(pair: Pair, source: str, target: Document, decided: Collection[str]) -> Sequence[str]:  # noqa: ARG001
        return picks.get((pair.id, source), ())

    return choose


def split_batches(pairs: Sequence[Pair], batches: int = 2) -> dict[str, int]:
    """Assign each pair to a batch, 1 to ``batches``: even, consecutive parts in the given order."""
    return {pair.id: 1 + index * batches // len(pairs) for index, pair in enumerate(pairs)}
