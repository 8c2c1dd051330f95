"""Judgments put together by candidate, and candidates by whatever they have in common."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from abcdlink.judgments import Judgment, Label, by_candidate

if TYPE_CHECKING:
    from abcdlink.interannotator.bootstrap import Counts

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
    """Group judgments by candidate.

    Args:
        judgments: of any batches; of several by one annotator on one candidate the last stands.
        overlap: judgments that a candidate needs; default ``required_judgments``.
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


def by_couple(groups: Sequence[Group]) -> dict[tuple[str, str], list[Group]]:
    """Return pair of annotators -> the candidates that both judged, with their two judgments."""
    parts: dict[tuple[str, str], list[Group]] = {}
    for group in groups:
        for couple in combinations(sorted(group), 2):
            parts.setdefault(couple, []).append({annotator: group[annotator] for annotator in couple})
    return dict(sorted(parts.items()))


def tables_of(groups: Sequence[Group], unit: str = "source") -> Counts:
    """Count two-by-two tables, shape (units, pairs of annotators, 4); see ``measures.py``.

    Only pairs of annotators that share a candidate have tables.

    Args:
        groups: the candidates.
        unit: what is resampled: ``source`` sentence or ``pair`` of documents.
    """
    import numpy as np

    cells = [
        (source_of(group) if unit == "source" else source_of(group)[0], couple, _cell(group, couple))
        for group in groups
        for couple in combinations(sorted(group), 2)
    ]
    units = {name: index for index, name in enumerate(dict.fromkeys(cell[0] for cell in cells))}
    couples = {couple: index for index, couple in enumerate(dict.fromkeys(cell[1] for cell in cells))}
    tables = np.zeros((len(units), len(couples), 4), dtype=np.int64)
    for name, couple, cell in cells:
        tables[units[name], couples[couple], cell] += 1
    return tables


def _cell(group: Group, couple: tuple[str, str]) -> int:
    first_said, second_said = (group[annotator].label is not Label.LINK for annotator in couple)
    return 2 * first_said + second_said
