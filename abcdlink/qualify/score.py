"""How well applicants judge: their labels against the gold links of the same candidates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING

from abcdlink.interannotator.measures import ONE_LABEL, cohen_kappa, kappa_interval, observed_agreement
from abcdlink.judgments import Annotator, Judgment, Label, Pool
from abcdlink.qualify.records import GOLD, Applicant

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DECIMALS = 12


def score_applicants(
    pools: Sequence[Pool], judgments: Sequence[Judgment], applicants: Sequence[Annotator]
) -> list[Applicant]:
    """Score every applicant, in the given order; one who judged nothing has done no task.

    Args:
        pools: the tasks that applicants could do; method ``gold`` marks the gold links.
        judgments: of the applicants on these pools.
        applicants: who applied.
    """
    own: defaultdict[str, list[Judgment]] = defaultdict(list)
    for judgment in judgments:
        own[judgment.annotator].append(judgment)
    return [_score(pools, own[person.annotator], person) for person in applicants]


def _score(pools: Sequence[Pool], judgments: Sequence[Judgment], person: Annotator) -> Applicant:
    tasks: defaultdict[tuple[str, str], dict[str, Judgment]] = defaultdict(dict)
    for judgment in judgments:
        tasks[judgment.pair, judgment.source][judgment.target] = judgment
    # Each judgment carries the time of its whole task.
    times = [one.seconds for one in (next(iter(said.values())) for said in tasks.values()) if one.seconds is not None]
    about = Applicant(
        annotator=person.annotator,
        simulated=person.simulated,
        tasks=len(pools),
        done=sum(_is_done(pool, tasks.get((pool.pair, pool.source), {})) for pool in pools),
        judged=sum(map(len, tasks.values())),
        seconds=median(times) if times else None,
    )
    return about.model_copy(update=_measures(list(tasks.values()))) if tasks else about


def _is_done(pool: Pool, said: Mapping[str, Judgment]) -> bool:
    return all(candidate.target in said for candidate in pool.candidates)


def _measures(tasks: Sequence[Mapping[str, Judgment]]) -> dict[str, object]:
    """Return the measures against gold; Cohen's kappa is undefined where only one label occurs."""
    by_source = _tables(tasks)
    table = by_source.sum(axis=0)
    both, false, missed, _ = map(int, table)
    measures: dict[str, object] = {
        "observed": float(observed_agreement(table)),
        "precision": both / (both + false) if both + false else None,
        "recall": both / (both + missed) if both + missed else None,
    }
    if not 0 < 2 * both + false + missed < 2 * int(table.sum()):
        return {**measures, "note": ONE_LABEL}
    interval = kappa_interval(by_source[:, None, :])
    if interval is not None:  # without the noise of sums, which would show as -0.00
        interval = (round(interval[0], DECIMALS) + 0.0, round(interval[1], DECIMALS) + 0.0)
    return {**measures, "kappa": cohen_kappa(table), "interval": interval}


def _tables(tasks: Sequence[Mapping[str, Judgment]]) -> NDArray[np.int64]:
    """Count [both Link, only the applicant, only gold, neither] of each task, shape (tasks, 4)."""
    import numpy as np

    tables = np.zeros((len(tasks), 4), dtype=np.int64)
    for row, said in enumerate(tasks):
        for judgment in said.values():
            tables[row, 2 * (judgment.label is not Label.LINK) + (judgment.method != GOLD)] += 1
    return tables
