"""Agreement in detail: by document, over time, and how many more pairs narrow an interval; see ``measures.py``."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import numpy as np
from pydantic import Field

from abcdlink.corpus.records import Record
from abcdlink.errors import InputError, counted
from abcdlink.interannotator.groups import Group, accepted, by_key, first, grouped, source_of, tables_of
from abcdlink.interannotator.measures import Measures, measures_of, resampled_values
from abcdlink.interannotator.multiple import Interval
from abcdlink.interannotator.over_time import (
    BatchParts,
    Curve,
    Difference,
    Unit,
    batch_differences,
    by_position,
    learning_curve,
)
from abcdlink.interannotator.times import Times, times_of
from abcdlink.judgments import Judgment
from abcdlink.statistics import Counts, interval, resampled

KAPPA = "kappa"
FEWEST_PAIRS = 5
ROUNDING = 1e-9
ASSUMPTION = "further pairs are like those judged, so the width falls as 1 / sqrt(pairs)"


class PairsNeeded(Record):
    """How many more pairs give a 95 % interval of a width; ``None``, with the reason in ``note``, if unknown.

    ``interval`` and ``interval_width``: now, by bootstrap over ``pairs`` (``judged`` candidates in them).
    """

    measure: str = Field(description="kappa, or the method whose acceptance rate it is")
    width: float = Field(description="wanted width of the interval: its upper minus its lower end")
    pairs: int
    judged: int
    value: float | None = None
    interval: Interval | None = None
    interval_width: float | None = None
    more: int | None = None
    note: str = ""
    assumption: str = ASSUMPTION

    @property
    def words(self) -> str:
        """The estimate in a sentence."""
        what = self.measure if self.measure == KAPPA else f"acceptance of {self.measure}"
        if self.more is None or self.interval_width is None:
            from_these = f"cannot be told from {counted(self.pairs, 'pair')}"
            return f"{what}: how many more pairs a narrow interval takes {from_these}: {self.note}."
        now = f"the interval over {self.pairs} pairs is {self.interval_width:.2f} wide"
        if not self.more:
            return f"{what}: {now}, which is enough for {self.width:g}."
        return f"{what}: {now}; for {self.width:g} about {self.more:,} more pairs are needed."


def pairs_needed(
    judgments: Sequence[Judgment],
    width: float,
    measure: str = KAPPA,
    overlap: int | None = None,
) -> PairsNeeded:
    """Estimate how many more pairs a 95 % interval of kappa, or of the acceptance rate of a method, needs.

    ``width``: of the wanted interval, in fractions of 1: 0.1 is 0.05 to both sides.

    Raises:
        InputError: when the width is not between 0 and 2.
    """
    if not 0 < width <= 2:  # noqa: PLR2004 - kappa runs from -1 to 1
        msg = f"an interval cannot be {width:g} wide"
        raise InputError(msg, "give a width above 0 and at most 2, such as 0.1")
    groups = grouped(judgments, overlap).complete
    if measure != KAPPA:
        groups = [group for group in groups if first(group).method == measure]
    pairs = len({source_of(group)[0] for group in groups})
    known = PairsNeeded(measure=measure, width=width, pairs=pairs, judged=len(groups))
    if pairs < FEWEST_PAIRS:
        return known.model_copy(update={"note": f"at least {FEWEST_PAIRS} judged pairs are needed"})
    return _of_kappa(known, groups) if measure == KAPPA else _of_acceptance(known, groups)


def _of_kappa(known: PairsNeeded, groups: Sequence[Group]) -> PairsNeeded:
    now = measures_of(groups, resamples=1)
    if now.kappa is None:
        return known.model_copy(update={"note": f"kappa is {now.note}"})
    return _extrapolated(known, now.kappa, interval(resampled_values(tables_of(groups, "pair")).kappa))


def _of_acceptance(known: PairsNeeded, groups: Sequence[Group]) -> PairsNeeded:
    by_pair = by_key(groups, [source_of(group)[0] for group in groups])
    # Accepted candidates and all candidates of each pair, shape (pairs, 2).
    counts: Counts = np.array([(sum(map(accepted, part)), len(part)) for part in by_pair.values()])
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = np.concatenate([sums[:, 0] / sums[:, 1] for sums in resampled(counts)])
    accepted_all, candidates = counts.sum(axis=0)
    return _extrapolated(known, float(accepted_all / candidates), interval(rates))


def _extrapolated(known: PairsNeeded, value: float, now: Interval | None) -> PairsNeeded:
    known = known.model_copy(update={"value": value, "interval": now})
    if now is None or now[1] - now[0] < ROUNDING:
        return known.model_copy(update={"note": "all pairs gave the same figure, so their spread is unknown"})
    now_width = now[1] - now[0]
    needed = ceil(known.pairs * (now_width / known.width) ** 2 - ROUNDING)
    return known.model_copy(update={"interval_width": now_width, "more": max(0, needed - known.pairs)})


WIDTH = 0.1
"""Default width of an interval that is considered narrow enough: 0.05 to either side."""

RESAMPLES_OF_DOCUMENT = 2_000
"""Fewer than over all judgments, since there are many documents."""

FEW_PAIRS = 4
"""With fewer pairs the learning curve goes by tasks."""


class Details(Record):
    """What supplements an ``Agreement``.

    ``documents``: pair -> its measures. ``differences``: each batch against the one before.
    ``needed``: more pairs for intervals of kappa and of each method's acceptance rate.
    """

    documents: dict[str, Measures]
    curve: Curve
    positions: tuple[BatchParts, ...]
    differences: tuple[Difference, ...]
    times: Times
    needed: tuple[PairsNeeded, ...]


def details(judgments: Sequence[Judgment], overlap: int | None = None, width: float = WIDTH) -> Details:
    """Measure what ``agreement`` leaves out; a second for a thousand candidates, twenty for 28,000.

    ``width``: of the intervals for which more pairs are estimated.

    Raises:
        InputError: when the width is not between 0 and 2.
    """
    documents = by_document(judgments, overlap)
    unit = Unit.TASK if len(documents) < FEW_PAIRS else Unit.PAIR
    methods = dict.fromkeys(judgment.method for judgment in judgments)
    return Details(
        documents=documents,
        curve=learning_curve(judgments, unit, overlap),
        positions=by_position(judgments, overlap),
        differences=batch_differences(judgments, overlap),
        times=times_of(judgments, overlap),
        needed=tuple(pairs_needed(judgments, width, measure, overlap) for measure in (KAPPA, *methods)),
    )


def by_document(judgments: Sequence[Judgment], overlap: int | None = None) -> dict[str, Measures]:
    """Return pair -> agreement on its candidates, in the order of appearance."""
    groups = grouped(judgments, overlap).complete
    parts = by_key(groups, [source_of(group)[0] for group in groups])
    return {pair: measures_of(part, RESAMPLES_OF_DOCUMENT) for pair, part in parts.items()}
