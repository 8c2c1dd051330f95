"""Which of the targets that approaches propose are shown, and under which method each of them is known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from abcdlink.corpus.records import Record
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
