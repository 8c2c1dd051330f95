"""The learning curve: agreement on all that was judged so far, after each pair or task."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from abcdlink.corpus.records import Record
from abcdlink.interannotator.groups import grouped
from abcdlink.interannotator.records import Measures
from abcdlink.interannotator.summary import measures
from abcdlink.interannotator.tasks import Task, by_completion, cut, tasks_of
from abcdlink.judgments import Judgment

MOST_POINTS = 40
"""A curve of more pairs or tasks is thinned evenly to so many points."""

RESAMPLES = 1_000
"""Resamples for each point: ends of an interval are then off by about a hundredth."""


class Unit(StrEnum):
    """What a step of the curve is."""

    PAIR = "pair"
    TASK = "task"


class Point(Record):
    """Agreement after so many pairs or tasks."""

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

    Args:
        judgments: of any batches.
        unit: what a step is.
        overlap: judgments that a candidate needs, as for ``agreement``.
    """
    ordered = by_completion(tasks_of(grouped(judgments, overlap).complete))
    steps = [[task] for task in ordered.tasks] if unit is Unit.TASK else _pairs(ordered.tasks)
    points, groups, done = [], [], 0
    for part in cut(steps, MOST_POINTS):
        done += len(part)
        groups += [group for step in part for task in step for group in task.groups]
        points.append(Point(done=done, batch=part[-1][-1].batch, measures=measures(groups, RESAMPLES)))
    return Curve(unit=unit, by_time=ordered.by_time, total=len(steps), points=tuple(points))


def _pairs(tasks: Sequence[Task]) -> list[list[Task]]:
    """Return the tasks of each pair, pairs in the order of their last tasks."""
    last = {(task.batch, task.pair): place for place, task in enumerate(tasks)}
    ordered = sorted(last, key=lambda pair: last[pair])
    return [[task for task in tasks if (task.batch, task.pair) == pair] for pair in ordered]
