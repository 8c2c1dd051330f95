"""One summary of all judgments: agreement, and acceptance by method."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, TypeVar

from abcdlink.agreement.measures import cohen_kappa, gwet_ac1, kappa_interval, observed_agreement
from abcdlink.agreement.records import ONE_ANNOTATOR, ONE_LABEL, Acceptance, Agreement, Measures
from abcdlink.judgments import BOTH, RANDOM, Judgment, Label, by_candidate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

K = TypeVar("K")
Group = dict[str, Judgment]
"""Annotator -> judgment on one candidate."""


def required_judgments(judgments: Sequence[Judgment]) -> int:
    """Return how many judgments make a candidate complete: two, or one while there is one annotator."""
    return min(2, len({judgment.annotator for judgment in judgments}))


def agreement(judgments: Sequence[Judgment], overlap: int | None = None) -> Agreement:
    """Summarise judgments. Candidates with fewer than ``overlap`` judgments are counted and left out.

    Args:
        judgments: of any batches; of several by one annotator on one candidate the last stands.
        overlap: judgments that a candidate needs; default ``required_judgments``.
    """
    needed = required_judgments(judgments) if overlap is None else overlap
    groups = list(by_candidate(judgments).values())
    complete = [group for group in groups if len(group) >= needed]
    methods = _by_key(complete, [_first(group).method for group in complete])
    batches = _by_key(complete, [_first(group).batch for group in complete])
    ordered = sorted(methods, key=lambda method: [BOTH, RANDOM].index(method) if method in (BOTH, RANDOM) else -1)
    return Agreement(
        **measures(complete).model_dump(),
        annotators=tuple(sorted({judgment.annotator for judgment in judgments})),
        incomplete=len(groups) - len(complete),
        acceptance={method: _acceptance(methods[method]) for method in ordered},
        methods={method: measures(methods[method]) for method in ordered},
        batches={batch: measures(batches[batch]) for batch in sorted(batches)},
    )


def accepted(group: Group) -> bool:
    """Tell whether all annotators of one candidate said Link: the rule ``both``."""
    return all(judgment.label is Label.LINK for judgment in group.values())


def measures(groups: Sequence[Group]) -> Measures:
    """Measure the agreement on candidates; see ``Measures`` for more than two annotators."""
    labels = [judgment.label is Label.LINK for group in groups for judgment in group.values()]
    prevalence = sum(labels) / len(labels) if labels else None
    by_source = _tables(groups)
    tables = by_source.sum(axis=0)
    if not len(tables):
        return Measures(judged=len(groups), prevalence=prevalence, note=ONE_ANNOTATOR)
    observed = float(observed_agreement(tables).mean())
    # Chance correction needs both labels in a table: with one label there is nothing to agree by chance on.
    usable = [table for table in tables if 0 < 2 * table[0] + table[1] + table[2] < 2 * table.sum()]
    if not usable:
        return Measures(judged=len(groups), observed=observed, prevalence=prevalence, note=ONE_LABEL)
    return Measures(
        judged=len(groups),
        observed=observed,
        kappa=sum(map(cohen_kappa, usable)) / len(usable),
        interval=kappa_interval(by_source),
        ac1=sum(float(gwet_ac1(table)) for table in usable) / len(usable),
        prevalence=prevalence,
        note=f"mean over {len(usable)} pairs of annotators" if len(tables) > 1 else "",
    )


def _tables(groups: Sequence[Group]) -> NDArray[np.int64]:
    """Count two-by-two tables, shape (sources, pairs of annotators, 4); see ``measures.py``.

    Only pairs of annotators that share a candidate have tables.
    """
    import numpy as np

    cells = [
        ((_first(group).pair, _first(group).source), couple, _cell(group, couple))
        for group in groups
        for couple in combinations(sorted(group), 2)
    ]
    sources = {source: index for index, source in enumerate(dict.fromkeys(cell[0] for cell in cells))}
    couples = {couple: index for index, couple in enumerate(dict.fromkeys(cell[1] for cell in cells))}
    tables = np.zeros((len(sources), len(couples), 4), dtype=np.int64)
    for source, couple, cell in cells:
        tables[sources[source], couples[couple], cell] += 1
    return tables


def _cell(group: Group, couple: tuple[str, str]) -> int:
    first, second = (group[annotator].label is not Label.LINK for annotator in couple)
    return 2 * first + second


def _acceptance(groups: Sequence[Group]) -> Acceptance:
    """Count the accepted candidates; interval by Wilson (1927), which is never empty at 0 or 1."""
    from scipy.stats import binomtest

    hits = sum(map(accepted, groups))
    interval = binomtest(hits, len(groups)).proportion_ci(method="wilson")
    return Acceptance(
        accepted=hits,
        candidates=len(groups),
        rate=hits / len(groups),
        interval=(float(interval.low), float(interval.high)),
    )


def _by_key(groups: Sequence[Group], keys: Sequence[K]) -> dict[K, list[Group]]:
    parts: dict[K, list[Group]] = {}
    for group, key in zip(groups, keys, strict=True):
        parts.setdefault(key, []).append(group)
    return parts


def _first(group: Group) -> Judgment:
    return next(iter(group.values()))
