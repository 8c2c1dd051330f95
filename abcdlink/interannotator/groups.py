"""Judgments grouped by candidate, by shared traits of candidates, and by task."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import combinations
from typing import NamedTuple, TypeVar

import numpy as np

from abcdlink.judgments import Judgment, Label, by_candidate
from abcdlink.statistics import Counts

K = TypeVar("K")
Group = dict[str, Judgment]
"""Annotator -> judgment on one candidate."""


class Grouped(NamedTuple):
    """The candidates that have all their judgments, in the order of appearance, and how many lack some."""

    complete: list[Group]
    incomplete: int


def required_judgments(judgments: Sequence[Judgment]) -> int:
    """Return how many judgments make a candidate complete: two, or one while there is one annotator."""
    return min(2, len({judgment.annotator for judgment in judgments}))


def grouped(judgments: Sequence[Judgment], overlap: int | None = None) -> Grouped:
    """Group judgments by candidate; of several by one annotator on one candidate the last stands.

    ``overlap``: judgments that a candidate needs; default ``required_judgments``.
    """
    needed = required_judgments(judgments) if overlap is None else overlap
    groups = list(by_candidate(judgments).values())
    complete = [group for group in groups if len(group) >= needed]
    return Grouped(complete, len(groups) - len(complete))


def accepted(group: Group) -> bool:
    """Tell whether all annotators of one candidate said Link: the rule ``both``."""
    return all(judgment.label is Label.LINK for judgment in group.values())


def first(group: Group) -> Judgment:
    """Return one judgment of a candidate, to tell its batch, pair, source and method."""
    return next(iter(group.values()))


def source_of(group: Group) -> tuple[str, str]:
    """Return pair and source sentence of a candidate: the task in which it was judged."""
    judgment = first(group)
    return judgment.pair, judgment.source


def by_key(groups: Sequence[Group], keys: Sequence[K]) -> dict[K, list[Group]]:
    """Sort candidates by their keys, one key a candidate; keys stay in the order of appearance."""
    parts: dict[K, list[Group]] = {}
    for group, key in zip(groups, keys, strict=True):
        parts.setdefault(key, []).append(group)
    return parts


def by_annotator_pair(groups: Sequence[Group]) -> dict[tuple[str, str], list[Group]]:
    """Return pair of annotators -> the candidates that both judged, with their two judgments."""
    parts: dict[tuple[str, str], list[Group]] = {}
    for group in groups:
        for annotators in combinations(sorted(group), 2):
            parts.setdefault(annotators, []).append({annotator: group[annotator] for annotator in annotators})
    return dict(sorted(parts.items()))


def tables_of(groups: Sequence[Group], unit: str = "source") -> Counts:
    """Count two-by-two tables, shape (units, pairs of annotators, 4); see ``measures.py``.

    Only pairs of annotators that share a candidate have tables. ``unit``: what is resampled: ``source`` sentence or
    ``pair`` of documents.
    """
    cells = [
        (source_of(group) if unit == "source" else source_of(group)[0], annotators, _cell(group, annotators))
        for group in groups
        for annotators in combinations(sorted(group), 2)
    ]
    units = {name: index for index, name in enumerate(dict.fromkeys(cell[0] for cell in cells))}
    annotator_pairs = {annotators: index for index, annotators in enumerate(dict.fromkeys(cell[1] for cell in cells))}
    tables = np.zeros((len(units), len(annotator_pairs), 4), dtype=np.int64)
    for name, annotators, cell in cells:
        tables[units[name], annotator_pairs[annotators], cell] += 1
    return tables


def _cell(group: Group, annotators: tuple[str, str]) -> int:
    first_said, second_said = (group[annotator].label is not Label.LINK for annotator in annotators)
    return 2 * first_said + second_said


T = TypeVar("T")


class Task(NamedTuple):
    """The candidates of one source sentence that have all their judgments.

    ``submitted``: annotator -> when they submitted the task, where that is known.
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
    """Ordered tasks; ``by_time``: by submission, else by their first judgment."""

    tasks: list[Task]
    by_time: bool


def tasks_of(groups: Sequence[Group]) -> list[Task]:
    """Group candidates by source sentence, in the order of appearance."""
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

    An annotator's places run from 0 for what they submitted first to 1 for what they submitted last.
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
    """Return annotator -> their tasks in the order of submission; as they appear when a time is missing."""
    orders = {}
    for annotator in sorted({annotator for task in tasks for annotator in task.annotators}):
        own = [task for task in tasks if annotator in task.annotators]
        if all(annotator in task.submitted for task in own):
            own.sort(key=lambda task: task.submitted[annotator])
        orders[annotator] = own
    return orders


def cut(items: Sequence[T], parts: int) -> list[list[T]]:
    """Cut a sequence into ``parts`` pieces of nearly equal length; into fewer when it is shorter than that."""
    parts = min(parts, len(items))
    pieces: list[list[T]] = [[] for _ in range(parts)]
    for place, item in enumerate(items):
        pieces[part_of(place, len(items), parts)].append(item)
    return pieces


def part_of(place: int, length: int, parts: int) -> int:
    """Return which of ``parts`` pieces of a sequence a place is in; all count from 0."""
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
