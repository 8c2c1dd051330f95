"""Tasks (source sentences) in the order in which people worked through them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, TypeVar

from abcdlink.interannotator.groups import Group, by_key, first, source_of

T = TypeVar("T")


class Task(NamedTuple):
    """The candidates of one source sentence that have all their judgments.

    ``submitted``: annotator -> when she submitted the task, where that is known.
    """

    batch: int
    pair: str
    source: str
    groups: list[Group]
    submitted: dict[str, datetime]

    @property
    def annotators(self) -> set[str]:
        """Who judged any of its candidates."""
        return {annotator for group in self.groups for annotator in group}


class Ordered(NamedTuple):
    """Tasks in an order; ``by_time``: that of submission, else of their appearance among the judgments."""

    tasks: list[Task]
    by_time: bool


def tasks_of(groups: Sequence[Group]) -> list[Task]:
    """Put candidates together by source sentence, in the order of appearance."""
    return [
        Task(first(part[0]).batch, *source_of(part[0]), part, _submissions(part))
        for part in by_key(groups, [source_of(group) for group in groups]).values()
    ]


def by_completion(tasks: Sequence[Task]) -> Ordered:
    """Order tasks by when their last annotator submitted them; as they appear when a time is missing."""
    if not _all_timed(tasks):
        return Ordered(list(tasks), by_time=False)
    return Ordered(sorted(tasks, key=lambda task: max(task.submitted.values())), by_time=True)


def by_place(tasks: Sequence[Task]) -> Ordered:
    """Order tasks by their mean place in the annotators' own orders; as they appear when a time is missing.

    An annotator's places run from 0 for what she submitted first to 1 for what she submitted last.
    """
    if not _all_timed(tasks):
        return Ordered(list(tasks), by_time=False)
    places: dict[tuple[str, str], list[float]] = {(task.pair, task.source): [] for task in tasks}
    for own in own_orders(tasks).values():
        for place, task in enumerate(own):
            places[task.pair, task.source].append(place / max(1, len(own) - 1))
    mean = {at: sum(found) / len(found) for at, found in places.items()}
    return Ordered(sorted(tasks, key=lambda task: mean[task.pair, task.source]), by_time=True)


def own_orders(tasks: Sequence[Task]) -> dict[str, list[Task]]:
    """Return annotator -> her tasks in the order of submission; as they appear when a time is missing."""
    orders = {}
    for annotator in sorted({annotator for task in tasks for annotator in task.annotators}):
        own = [task for task in tasks if annotator in task.annotators]
        if all(annotator in task.submitted for task in own):
            own.sort(key=lambda task: task.submitted[annotator])
        orders[annotator] = own
    return orders


def cut(items: Sequence[T], parts: int) -> list[list[T]]:
    """Cut a sequence into so many parts of nearly equal length; into fewer when it is shorter than that."""
    parts = min(parts, len(items))
    pieces: list[list[T]] = [[] for _ in range(parts)]
    for place, item in enumerate(items):
        pieces[part_of(place, len(items), parts)].append(item)
    return pieces


def part_of(place: int, length: int, parts: int) -> int:
    """Return in which of so many parts of a sequence a place lies; all count from 0."""
    return place * parts // length


def _submissions(groups: Sequence[Group]) -> dict[str, datetime]:
    times: dict[str, datetime] = {}
    for group in groups:
        for annotator, judgment in group.items():
            if judgment.submitted is not None:
                times[annotator] = max(judgment.submitted, times.get(annotator, judgment.submitted))
    return times


def _all_timed(tasks: Sequence[Task]) -> bool:
    return all(task.annotators <= task.submitted.keys() for task in tasks)
