"""Which of two approaches is better, and how sure that is: paired bootstrap of the difference in mean F1.

All functions work on the per-source table of a benchmark (``scores.parquet`` of a run): the columns
``approach``, ``pair``, ``source``, ``f1`` and ``answered``, one row per approach and source with links. Where an LLM
was asked about some sources only, the column ``sampled`` tells these, and all approaches are compared on them.
A source that an approach did not answer counts as F1 0, as in ``ApproachResult.f1_of_all``, so that
an approach does not win by leaving out what is hard.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from abcdlink.corpus.records import Record
from abcdlink.errors import InputError
from abcdlink.statistics import MeanDifference, bootstrap_differences

if TYPE_CHECKING:
    import pandas as pd

Unit = Literal["source", "pair"]
"""What is resampled: source sentences, or whole pairs, as the sources of one pair are not independent."""


class Comparison(Record):
    """The difference in mean F1 between two approaches, a - b, in fractions of 1.

    ``p_adjusted``: ``difference.p`` corrected for the number of comparisons made together (Holm);
    the interval is not corrected. ``sources``: how many source sentences both were scored on.
    """

    a: str
    b: str
    sources: int = 0
    difference: MeanDifference
    p_adjusted: float

    @property
    def told_apart(self) -> bool:
        """Whether the 95 % interval of the difference leaves out 0."""
        return not self.difference.low <= 0 <= self.difference.high


def compare(table: pd.DataFrame, a: str, b: str, by: Unit = "source") -> Comparison:
    """Compare two approaches, by name, on the sources that a benchmark scored.

    Raises:
        InputError: when the table lacks an approach, holds one twice, or the two were not scored on the same sources.
    """
    return compare_one_with_many(table, a, [b], by)[0]


def compare_with_best(table: pd.DataFrame, by: Unit = "source") -> list[Comparison]:
    """Compare the approach with the highest mean F1 (``a`` of each comparison) with all others, best first.

    As the best was found on these very sources, the differences flatter it a little.

    Raises:
        InputError: as ``compare``, or when the table is empty.
    """
    means = f1_by_source(table).mean().sort_index().sort_values(ascending=False, kind="stable")
    best, *others = means.index.tolist()
    return compare_one_with_many(table, best, others, by)


def compare_one_with_many(table: pd.DataFrame, a: str, others: Sequence[str], by: Unit = "source") -> list[Comparison]:
    """Compare one approach with each of the others, on the same 10,000 resamples.

    The smallest p that a bootstrap can give is 0.0002, so the smallest adjusted one is 0.0002 times
    the number of comparisons.

    Raises:
        InputError: as ``compare``.
    """
    names = set(table["approach"])
    for name in (a, *others):
        if name not in names:
            msg = f"the benchmark did not score {name!r}"
            raise InputError(msg, f"name one of {', '.join(sorted(names))}")
    if not others:
        return []
    scores = f1_by_source(table[table["approach"].isin([a, *others])])
    differences = scores[[a]].to_numpy() - scores[list(others)].to_numpy()
    groups = scores.index.get_level_values("pair").tolist() if by == "pair" else None
    found = bootstrap_differences(differences, groups=groups)
    adjusted = holm([difference.p for difference in found])
    return [
        Comparison(a=a, b=name, sources=len(scores), difference=difference, p_adjusted=p)
        for name, difference, p in zip(others, found, adjusted, strict=True)
    ]


def f1_by_source(table: pd.DataFrame) -> pd.DataFrame:
    """Return F1 with one row per compared (pair, source) and one column per approach; 0 where it was not answered.

    Raises:
        InputError: when the table is empty, holds a source twice for one approach, or lacks it for one.
    """
    key = ["approach", "pair", "source"]
    table = sampled_only(table)
    if table.empty or table.duplicated(key).any():
        msg = "the table of scores is empty" if table.empty else "the table of scores has an approach twice"
        raise InputError(msg, "benchmark each approach once, on pairs with links")
    counted = table[key].astype(str).assign(f1=table["f1"].where(table["answered"], 0.0))
    scores = counted.pivot_table(index=["pair", "source"], columns="approach", values="f1")
    lacking = scores.columns[scores.isna().any()].tolist()
    if lacking:
        msg = f"{lacking[0]} was not scored on every source that another approach was scored on"
        raise InputError(msg, "compare approaches of one benchmark")
    return scores


def sampled_only(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the sources that every approach was scored on."""
    return table[table["sampled"]] if "sampled" in table else table


def holm(p: Sequence[float]) -> list[float]:
    """Return p values corrected for their number, in the given order.

    With the p values in increasing order, the i-th of m (from 0) is multiplied by m - i; none may be
    below the one before it, nor above 1 (Holm, Scandinavian Journal of Statistics 6, 1979).
    """
    order = np.argsort(p, kind="stable")
    stepped = np.asarray(p, np.float64)[order] * (len(p) - np.arange(len(p)))
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(stepped))
    return adjusted.tolist()
