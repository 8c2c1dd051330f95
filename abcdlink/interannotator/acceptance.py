"""How many of the candidates of a method annotators accept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from abcdlink.corpus.records import Record
from abcdlink.interannotator.groups import Group, accepted
from abcdlink.interannotator.multiple import Interval
from abcdlink.judgments import BOTH, RANDOM, Label


class Acceptance(Record):
    """How many of one method's candidates all annotators call Link; ``interval``: 95 %, Wilson."""

    accepted: int
    candidates: int
    rate: float
    interval: Interval

    @property
    def row(self) -> dict[str, object]:
        """The acceptance as a row of a table, in percent."""
        low, high = self.interval
        return {
            "accepted": f"{self.accepted}/{self.candidates}",
            "rate": f"{self.rate:.1%}",
            "interval of the rate": f"{low:.1%} to {high:.1%}",
        }


UNION = "union"
"""All that either approach proposes."""


def aggregates_of(methods: Mapping[str, Sequence[Group]]) -> dict[str, Acceptance]:
    """Return the acceptance of all that each of two approaches proposes, and of what either does."""
    own = [method for method in methods if method not in (BOTH, RANDOM)]
    if len(own) != 2:  # noqa: PLR2004 - two are compared
        return {}
    shared = list(methods.get(BOTH, ()))
    found = {f"{method} with {BOTH}": [*methods[method], *shared] for method in own}
    found[UNION] = [*methods[own[0]], *methods[own[1]], *shared]
    return {name: acceptance_of(groups) for name, groups in found.items()}


def links_by_annotator(groups: Sequence[Group], annotators: Sequence[str]) -> dict[str, int]:
    """Return how many of some candidates each annotator calls a link."""
    said = [name for group in groups for name, judgment in group.items() if judgment.label is Label.LINK]
    return {annotator: said.count(annotator) for annotator in annotators}


def acceptance_of(groups: Sequence[Group]) -> Acceptance:
    """Count the accepted candidates; interval by Wilson (1927), which is never empty at 0 or 1."""
    from scipy.stats import binomtest

    hits = sum(map(accepted, groups))
    wilson = binomtest(hits, len(groups)).proportion_ci(method="wilson")
    return Acceptance(
        accepted=hits,
        candidates=len(groups),
        rate=hits / len(groups),
        interval=(float(wilson.low), float(wilson.high)),
    )
