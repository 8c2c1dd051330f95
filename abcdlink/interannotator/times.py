"""How long people need: seconds on a task, minutes on a pair, links per hour.

Times come from ``Judgment.seconds``, the seconds on the whole task. A task that was left open over
lunch would outweigh an hour of work, so outliers are set to the median; see ``OUTLIER_RULE``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from statistics import median, quantiles
from typing import NamedTuple

from abcdlink.corpus.records import Record
from abcdlink.interannotator.groups import Task, accepted, grouped, tasks_of
from abcdlink.judgments import Judgment, Label

CAP = 1_800.0
FLOOR = 60.0
ENOUGH = 8
OUTLIER_RULE = (
    f"a time above the annotator's third quartile plus three times the interquartile range (with {ENOUGH} times or "
    f"more, and never below {FLOOR:.0f} s), or above {CAP / 60:.0f} minutes, is set to the median of their other times"
)
"""The far-out fence of Tukey (1977), Exploratory Data Analysis."""

PAPER_MINUTES = 15.0
"""Minutes that an annotator of the paper took for a pair."""

TaskPlace = tuple[int, str, str]
"""Batch, pair and source of a task."""


class Outlier(Record):
    """A time that was set to the median."""

    batch: int
    pair: str
    source: str
    seconds: float


class AnnotatorTimes(Record):
    """The times of one annotator, in seconds, outliers set to the median.

    ``untimed``: tasks whose time is not known. ``limit``: above it a time is an outlier. ``pair``: the
    median over ``pairs``, those of which they judged all sources and all times are known. ``rest``: share of
    their No Link judgments that they gave by the one key for the rest; ``None``: they gave no No Link.
    """

    annotator: str
    tasks: int
    untimed: int
    task: float | None
    limit: float | None
    outliers: tuple[Outlier, ...]
    pairs: int
    pair: float | None
    rest: float | None = None


class Times(Record):
    """Times of all annotators.

    ``hours``: of all annotators together, on the ``tasks`` that are timed for everyone who judged
    them; ``links``: candidates of these tasks on which all said Link.
    """

    annotators: tuple[AnnotatorTimes, ...]
    tasks: int
    hours: float
    links: int
    links_per_hour: float | None
    rule: str = OUTLIER_RULE

    @property
    def words(self) -> list[str]:
        """The figures in sentences, beside the paper's minutes on a pair."""
        by_rest = [
            f"{one.annotator} gave {one.rest:.0%} of their No Link judgments by the key for the rest."
            for one in self.annotators
            if one.rest
        ]
        if not any(one.tasks for one in self.annotators):
            return ["No times are known.", *by_rest]
        told = [*(_against_paper(one) for one in self.annotators if one.pair is not None), *by_rest]
        if self.links_per_hour is not None:
            told.append(
                f"{self.links_per_hour:.0f} links per hour of work: {self.links} accepted links in {self.hours:.1f} "
                f"hours of all annotators together, over {self.tasks} timed tasks."
            )
        return told


class CleanedTimes(NamedTuple):
    """An annotator's times by task, outliers set to the median."""

    seconds: dict[TaskPlace, float]
    outliers: tuple[Outlier, ...]
    limit: float | None


def times_of(judgments: Sequence[Judgment], overlap: int | None = None) -> Times:
    """Say how long annotators need, and how many accepted links an hour of their work gives.

    Tasks with candidates that lack a judgment count for the times of who did them. ``overlap``: judgments that a
    candidate needs to be an accepted link.
    """
    done: dict[str, set[TaskPlace]] = {}
    for judgment in judgments:
        done.setdefault(judgment.annotator, set()).add(_place(judgment))
    known = cleaned_times(judgments)
    everything = set().union(*done.values())
    timed = [
        task
        for task in tasks_of(grouped(judgments, overlap).complete)
        if all(_at(task) in known[annotator].seconds for annotator in task.annotators)
    ]
    hours = sum(known[who].seconds[_at(task)] for task in timed for who in task.annotators) / 3600
    links = sum(accepted(group) for task in timed for group in task.groups)
    return Times(
        annotators=tuple(_of_annotator(who, done[who], known[who], everything, judgments) for who in sorted(done)),
        tasks=len(timed),
        hours=hours,
        links=links,
        links_per_hour=links / hours if hours else None,
    )


def seconds_a_candidate(judgments: Sequence[Judgment]) -> tuple[float, int] | None:
    """Return the mean seconds of one annotator for one candidate, and on how many judgments that is measured.

    Outliers are set to the median; ``None``: no time is known.
    """
    known = cleaned_times(judgments)
    timed = [one for one in judgments if _place(one) in known[one.annotator].seconds]
    seconds = sum(sum(one.seconds.values()) for one in known.values())
    return (seconds / len(timed), len(timed)) if timed and seconds else None


def cleaned_times(judgments: Iterable[Judgment]) -> dict[str, CleanedTimes]:
    """Return annotator -> their times by task, outliers set to the median by ``OUTLIER_RULE``."""
    raw: dict[str, dict[TaskPlace, float]] = {}
    for judgment in judgments:
        own = raw.setdefault(judgment.annotator, {})
        if judgment.seconds is not None and isfinite(judgment.seconds) and judgment.seconds >= 0:
            own[_place(judgment)] = judgment.seconds
    return {annotator: _clean(own) for annotator, own in raw.items()}


def usual_time(times: Sequence[float]) -> tuple[float, float]:
    """Return the limit of one annotator's times by ``OUTLIER_RULE``, and the median of those within it; in seconds."""
    limit = CAP
    if len(times) >= ENOUGH:
        lower, _, upper = quantiles(times, n=4, method="inclusive")
        limit = min(CAP, max(FLOOR, upper + 3 * (upper - lower)))
    others = [seconds for seconds in times if seconds <= limit]
    return limit, median(others) if others else limit


def _clean(raw: dict[TaskPlace, float]) -> CleanedTimes:
    if not raw:
        return CleanedTimes({}, (), None)
    limit, usual = usual_time(list(raw.values()))
    outliers = (
        Outlier(batch=batch, pair=pair, source=source, seconds=seconds)
        for (batch, pair, source), seconds in raw.items()
        if seconds > limit
    )
    return CleanedTimes(
        {at: seconds if seconds <= limit else usual for at, seconds in raw.items()}, tuple(outliers), limit
    )


def _of_annotator(
    annotator: str, done: set[TaskPlace], known: CleanedTimes, everything: set[TaskPlace], judgments: Iterable[Judgment]
) -> AnnotatorTimes:
    refused = [one.rest for one in judgments if one.annotator == annotator and one.label is Label.NO_LINK]
    sources: dict[tuple[int, str], list[TaskPlace]] = {}
    for at in everything:
        sources.setdefault(at[:2], []).append(at)
    pairs = [
        sum(known.seconds[at] for at in places)
        for places in sources.values()
        if all(at in known.seconds for at in places)
    ]
    return AnnotatorTimes(
        annotator=annotator,
        tasks=len(known.seconds),
        untimed=len(done - known.seconds.keys()),
        task=median(known.seconds.values()) if known.seconds else None,
        limit=known.limit,
        outliers=known.outliers,
        pairs=len(pairs),
        pair=median(pairs) if pairs else None,
        rest=sum(refused) / len(refused) if refused else None,
    )


def _against_paper(one: AnnotatorTimes) -> str:
    minutes = (one.pair or 0) / 60
    ratio = minutes / PAPER_MINUTES
    compared = "about as long as" if 0.9 <= ratio <= 1.1 else f"{ratio:.0%} of"  # noqa: PLR2004 - within a tenth
    return (
        f"{one.annotator} takes {minutes:.1f} minutes per pair (median of {one.pairs}), "
        f"{compared} the {PAPER_MINUTES:.0f} minutes in the paper."
    )


def _place(judgment: Judgment) -> TaskPlace:
    return judgment.batch, judgment.pair, judgment.source


def _at(task: Task) -> TaskPlace:
    return task.batch, task.pair, task.source
