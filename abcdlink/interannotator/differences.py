"""Whether agreement differs between two sets of judgments: of two batches, of the end and the beginning of one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from abcdlink.corpus.records import Record
from abcdlink.interannotator.bootstrap import interval
from abcdlink.interannotator.groups import Group, first, grouped, tables_of
from abcdlink.interannotator.measures import resampled_values
from abcdlink.interannotator.records import Estimate
from abcdlink.interannotator.summary import measures
from abcdlink.judgments import Judgment

if TYPE_CHECKING:
    from abcdlink.interannotator.bootstrap import Floats

SEEDS = (1, 2)
"""The two sides are drawn apart from each other."""


class Difference(Record):
    """What ``after`` has more than ``before``, in fractions of 1.

    An interval that does not hold 0 says that the two differ by more than chance would have it.
    ``before_judged`` and ``after_judged``: candidates on each side.
    """

    before: str
    after: str
    before_judged: int
    after_judged: int
    kappa: Estimate
    observed: Estimate
    ac1: Estimate


def difference(
    before: Sequence[Judgment],
    after: Sequence[Judgment],
    names: tuple[str, str] = ("before", "after"),
    overlap: int | None = None,
) -> Difference:
    """Compare the agreement of two sets of judgments on different source sentences.

    The 95 % intervals are by bootstrap over source sentences, each side resampled by itself.

    Args:
        before: judgments on one side.
        after: judgments on the other.
        names: what the sides are called.
        overlap: judgments that a candidate needs, as for ``agreement``.
    """
    return difference_of_groups(grouped(before, overlap).complete, grouped(after, overlap).complete, names)


def batch_differences(judgments: Sequence[Judgment], overlap: int | None = None) -> tuple[Difference, ...]:
    """Compare each batch with the one before it."""
    groups: dict[int, list[Group]] = {}
    for group in grouped(judgments, overlap).complete:
        groups.setdefault(first(group).batch, []).append(group)
    batches = sorted(groups)
    return tuple(
        difference_of_groups(groups[one], groups[other], (f"batch {one}", f"batch {other}"))
        for one, other in pairwise(batches)
    )


def difference_of_groups(before: Sequence[Group], after: Sequence[Group], names: tuple[str, str]) -> Difference:
    """Compare the agreement on two sets of candidates; see ``difference``."""
    sides = [measures(groups, resamples=1) for groups in (before, after)]
    tables = [tables_of(groups) for groups in (before, after)]
    drawn = (
        [resampled_values(part, seed) for part, seed in zip(tables, SEEDS, strict=True)]
        if all(part.size for part in tables)
        else []
    )
    found = {
        measure: _change(
            [getattr(side, measure) for side in sides],
            [getattr(values, measure) for values in drawn],
            "; ".join(f"{name}: {side.note}" for name, side in zip(names, sides, strict=True) if side.note),
        )
        for measure in ("kappa", "observed", "ac1")
    }
    return Difference(
        before=names[0], after=names[1], before_judged=sides[0].judged, after_judged=sides[1].judged, **found
    )


def _change(values: Sequence[float | None], drawn: Sequence[Floats], notes: str) -> Estimate:
    one, other = values
    if one is None or other is None:
        return Estimate(note=notes)
    return Estimate(value=other - one, interval=interval(drawn[1] - drawn[0]))
