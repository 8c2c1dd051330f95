"""Agreement over time: the learning curve, the parts of a batch, and differences between batches."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise
from statistics import median

from abcdlink.corpus.records import Record
from abcdlink.interannotator.groups import (
    Group,
    Task,
    by_completion,
    by_place,
    cut,
    first,
    grouped,
    own_orders,
    part_of,
    tables_of,
    tasks_of,
)
from abcdlink.interannotator.measures import Measures, measures_of, resampled_values
from abcdlink.interannotator.multiple import AgreementEstimate
from abcdlink.interannotator.times import cleaned_times
from abcdlink.judgments import Judgment
from abcdlink.statistics import Floats, interval

SEEDS = (1, 2)
"""The two sides are drawn independently."""


class Difference(Record):
    """By how much ``after`` exceeds ``before``, in fractions of 1.

    An interval that excludes 0 means that the two differ by more than chance.
    ``before_judged`` and ``after_judged``: candidates on each side.
    """

    before: str
    after: str
    before_judged: int
    after_judged: int
    kappa: AgreementEstimate
    observed: AgreementEstimate
    ac1: AgreementEstimate


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
    """Compare the agreement on two sets of candidates of different source sentences.

    The 95 % intervals are by bootstrap over source sentences, each side resampled by itself.
    """
    sides = [measures_of(groups, resamples=1) for groups in (before, after)]
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


def _change(values: Sequence[float | None], drawn: Sequence[Floats], notes: str) -> AgreementEstimate:
    one, other = values
    if one is None or other is None:
        return AgreementEstimate(note=notes)
    return AgreementEstimate(value=other - one, interval=interval(drawn[1] - drawn[0]))


MOST_POINTS = 40
"""A curve of more pairs or tasks is thinned evenly to this many points."""

RESAMPLES = 1_000
"""Resamples for each point: ends of an interval are then off by about a hundredth."""


class Unit(StrEnum):
    """What a step of the curve is."""

    PAIR = "pair"
    TASK = "task"


class Point(Record):
    """Agreement after ``done`` pairs or tasks."""

    done: int
    batch: int
    measures: Measures


class Curve(Record):
    """Points in the order of submission (``by_time``), or of appearance where a time is missing."""

    unit: Unit
    by_time: bool
    total: int
    points: tuple[Point, ...]


def learning_curve(judgments: Sequence[Judgment], unit: Unit = Unit.PAIR, overlap: int | None = None) -> Curve:
    """Return the agreement on all candidates judged so far, step by step.

    A task is done when its last annotator submitted it, a pair when its last task is done.
    """
    ordered = by_completion(tasks_of(grouped(judgments, overlap).complete))
    steps = [[task] for task in ordered.tasks] if unit is Unit.TASK else _pairs(ordered.tasks)
    points, groups, done = [], [], 0
    for part in cut(steps, MOST_POINTS):
        done += len(part)
        groups += [group for step in part for task in step for group in task.groups]
        points.append(Point(done=done, batch=part[-1][-1].batch, measures=measures_of(groups, RESAMPLES)))
    return Curve(unit=unit, by_time=ordered.by_time, total=len(steps), points=tuple(points))


def _pairs(tasks: Sequence[Task]) -> list[list[Task]]:
    """Return the tasks of each pair, pairs in the order of their last tasks."""
    last = {(task.batch, task.pair): place for place, task in enumerate(tasks)}
    ordered = sorted(last, key=lambda pair: last[pair])
    return [[task for task in tasks if (task.batch, task.pair) == pair] for pair in ordered]


PARTS = 4


class BatchPart(Record):
    """One part of a batch, in the order in which people worked.

    ``tasks``: that are in it. ``seconds``: the median time of a task in this part of each annotator's
    own order, over ``timed`` times, outliers set to the median (see ``times.py``).
    """

    tasks: int
    measures: Measures
    seconds: float | None
    timed: int


class BatchParts(Record):
    """The quarters of one batch; ``change``: by how much the last exceeds the first.

    ``by_time``: in the order of submission, else of appearance because a time is missing.
    """

    batch: int
    by_time: bool
    parts: tuple[BatchPart, ...]
    change: Difference | None


def by_position(judgments: Sequence[Judgment], overlap: int | None = None) -> tuple[BatchParts, ...]:
    """Return agreement and time by quarter of each batch; fewer parts when a batch has fewer tasks.

    A task's place is its mean place in the orders in which its annotators submitted their tasks.
    """
    tasks = tasks_of(grouped(judgments, overlap).complete)
    seconds = {annotator: cleaned.seconds for annotator, cleaned in cleaned_times(judgments).items()}
    found = []
    for batch in sorted({task.batch for task in tasks}):
        ordered = by_place([task for task in tasks if task.batch == batch])
        pieces = cut(ordered.tasks, PARTS)
        times: list[list[float]] = [[] for _ in pieces]
        for annotator, own in own_orders(ordered.tasks).items():
            for index, task in enumerate(own):
                known = seconds[annotator].get((task.batch, task.pair, task.source))
                if known is not None:
                    times[part_of(index, len(own), len(pieces))].append(known)
        groups = [[group for task in piece for group in task.groups] for piece in pieces]
        ends = ("first part", "last part")
        found.append(
            BatchParts(
                batch=batch,
                by_time=ordered.by_time,
                parts=tuple(map(_part, groups, map(len, pieces), times)),
                change=difference_of_groups(groups[0], groups[-1], ends) if len(groups) > 1 else None,
            )
        )
    return tuple(found)


def _part(groups: Sequence[Group], tasks: int, times: Sequence[float]) -> BatchPart:
    seconds = median(times) if times else None
    return BatchPart(tasks=tasks, measures=measures_of(groups), seconds=seconds, timed=len(times))
