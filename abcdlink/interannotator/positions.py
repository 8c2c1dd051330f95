"""Agreement and time by place within a batch, where people tire: the first quarter of tasks to the last."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from abcdlink.corpus.records import Record
from abcdlink.interannotator.differences import Difference, difference_of_groups
from abcdlink.interannotator.groups import Group, grouped
from abcdlink.interannotator.records import Measures
from abcdlink.interannotator.summary import measures
from abcdlink.interannotator.tasks import Task, by_place, cut, own_orders, part_of, tasks_of
from abcdlink.interannotator.times import cleaned_times
from abcdlink.judgments import Judgment

PARTS = 4


class Part(Record):
    """One part of a batch, in the order in which people worked.

    ``tasks``: that are in it. ``seconds``: the median time of a task in this part of each annotator's
    own order, over ``timed`` times, outliers set to the median (see ``times.py``).
    """

    tasks: int
    measures: Measures
    seconds: float | None
    timed: int


class BatchParts(Record):
    """The quarters of one batch; ``change``: what the last has more than the first.

    ``by_time``: in the order of submission, else of appearance because a time is missing.
    """

    batch: int
    by_time: bool
    parts: tuple[Part, ...]
    change: Difference | None


def by_position(
    judgments: Sequence[Judgment], parts: int = PARTS, overlap: int | None = None
) -> tuple[BatchParts, ...]:
    """Return agreement and time by part of each batch; fewer parts when a batch has fewer tasks.

    A task's place is its mean place in the orders in which its annotators submitted their tasks.

    Args:
        judgments: of any batches.
        parts: into how many parts a batch is cut.
        overlap: judgments that a candidate needs, as for ``agreement``.
    """
    tasks = tasks_of(grouped(judgments, overlap).complete)
    seconds = {annotator: cleaned.seconds for annotator, cleaned in cleaned_times(judgments).items()}
    found = []
    for batch in sorted({task.batch for task in tasks}):
        ordered = by_place([task for task in tasks if task.batch == batch])
        pieces = cut(ordered.tasks, parts)
        times: list[list[float]] = [[] for _ in pieces]
        for annotator, own in own_orders(ordered.tasks).items():
            for index, task in enumerate(own):
                known = seconds[annotator].get((task.batch, task.pair, task.source))
                if known is not None:
                    times[part_of(index, len(own), len(pieces))].append(known)
        found.append(
            BatchParts(
                batch=batch,
                by_time=ordered.by_time,
                parts=tuple(_part(piece, spent) for piece, spent in zip(pieces, times, strict=True)),
                change=_change(pieces),
            )
        )
    return tuple(found)


def _part(tasks: Sequence[Task], times: Sequence[float]) -> Part:
    return Part(
        tasks=len(tasks),
        measures=measures(_groups(tasks)),
        seconds=median(times) if times else None,
        timed=len(times),
    )


def _change(pieces: Sequence[Sequence[Task]]) -> Difference | None:
    if len(pieces) == 1:
        return None
    names = ("first part", "last part")
    return difference_of_groups(_groups(pieces[0]), _groups(pieces[-1]), names)


def _groups(tasks: Sequence[Task]) -> list[Group]:
    return [group for task in tasks for group in task.groups]
