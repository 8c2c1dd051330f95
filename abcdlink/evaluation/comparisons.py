"""What a benchmark's tables say: which approach is better and how certain that is, and which source sentences are hard.

Comparisons are a paired bootstrap of the difference in mean F1. Comparisons and ``break_down`` work on the per-source
table of a benchmark (``scores.parquet`` of a run): the columns ``approach``, ``pair``, ``source``, ``f1`` and
``answered``, one row per approach and source with links. Where an LLM was asked about some sources only, the column
``sampled`` marks these, and all approaches are compared on them. A source that an approach did not answer counts as
F1 0, as in ``ApproachResult.f1_of_all``, so that an approach does not win by leaving out what is hard.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np

from abcdlink.corpus.records import Corpus, Record
from abcdlink.errors import InputError
from abcdlink.evaluation.results import ApproachResult
from abcdlink.evaluation.scores import MEASURES, PAPER_CUTOFFS
from abcdlink.linking.records import ApproachKind
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
        """Whether the 95 % interval of the difference excludes 0."""
        return not self.difference.low <= 0 <= self.difference.high

    @property
    def row(self) -> dict[str, object]:
        """The comparison as a row of a table, in percentage points."""
        mean, low, high = (100 * value for value in (self.difference.mean, self.difference.low, self.difference.high))
        return {
            "minus F1 of": self.b,
            "difference": f"{mean:+.2f}",
            "95 % interval": f"{low:+.2f} to {high:+.2f}",
            "p": f"{self.p_adjusted:.4f}",
        }


def compare_with_best(table: pd.DataFrame, by: Unit = "source") -> list[Comparison]:
    """Compare the approach with the highest mean F1 (``a`` of each comparison) with all others, best first.

    Since the best was chosen on these same sources, the differences flatter it slightly. Errors as
    ``compare_one_with_many``, or when the table is empty.
    """
    means = f1_by_source(table).mean().sort_index().sort_values(ascending=False, kind="stable")
    best, *others = means.index.tolist()
    return compare_one_with_many(table, best, others, by)


def compare_one_with_many(table: pd.DataFrame, a: str, others: Sequence[str], by: Unit = "source") -> list[Comparison]:
    """Compare one approach with each of the others, on the same 10,000 resamples.

    The smallest p that a bootstrap can give is 0.0002, so the smallest adjusted one is 0.0002 times the number of
    comparisons. Raises ``InputError`` when the table lacks an approach, holds one twice, or two were not scored on the
    same sources.
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
    scores = counted.pivot(index=["pair", "source"], columns="approach", values="f1")  # noqa: PD010 - a third of the time
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


THIRDS = ("first third", "middle third", "last third")
LINKS = ("1 link", "2 links", "3 or more")


class Trait(StrEnum):
    """Trait by which source sentences are grouped."""

    LINKS = "links"
    """Its number of gold links."""
    POSITION = "position"
    """The third of its document that contains its middle."""
    LENGTH = "length"
    """Sentences of its target document, in four bins of about equally many sources."""


def by_cutoff(results: Sequence[ApproachResult], measure: Literal["precision", "recall", "f1"]) -> pd.DataFrame:
    """Return one measure by cutoff, e.g. R@k: one row per retriever or learned linker, one column per k.

    Approaches that cut by a rule and those with an LLM have no place here. A cutoff at which one
    was not scored is NaN.
    """
    import pandas as pd

    values: dict[str, dict[int, float]] = {}
    for result in results:
        approach = result.approach
        if approach.kind is not ApproachKind.LLM and isinstance(approach.cutoff, int):
            values.setdefault(approach.retriever, {})[approach.cutoff] = getattr(result, measure)
    return pd.DataFrame.from_dict(values, orient="index").sort_index(axis="columns")


def average_f1(results: Sequence[ApproachResult], cutoffs: Sequence[int] = PAPER_CUTOFFS) -> dict[str, float]:
    """Return the mean of F1 over the cutoffs by retriever or learned linker, best first.

    One that was not scored at all of these cutoffs is left out: its mean would be of something else.
    """
    table = by_cutoff(results, "f1").reindex(columns=list(cutoffs)).dropna()
    means = table.mean(axis="columns").sort_values(ascending=False, kind="stable")
    return {str(name): float(mean) for name, mean in means.items()}


def break_down(table: pd.DataFrame, corpus: Corpus, trait: Trait) -> pd.DataFrame:
    """Return the scores of each approach on each kind of source sentence.

    ``table``: per source, as a benchmark gives it: approach, pair, source, precision, recall, f1, answered.

    Returns:
        One row per (approach, bin), approaches in the order of the table: approach, bin (words), sources,
        answered, precision, recall, f1 (means over the answered sources; 0 when there is none) and
        f1_of_all (a source that was not answered counts as 0).

    Raises:
        InputError: when the table holds a pair that is not in the corpus.
    """
    import pandas as pd

    table = sampled_only(table)
    places = table[["pair", "source"]].drop_duplicates(ignore_index=True)
    names, codes = _bins(corpus, list(places.itertuples(index=False, name=None)), trait)
    rows = table.merge(places.assign(bin=codes), on=["pair", "source"])
    rows["approach"] = pd.Categorical(rows["approach"], rows["approach"].unique())
    rows["f1_of_all"] = rows["f1"].where(rows["answered"], 0.0)
    key = ["approach", "bin"]
    of_all = rows.groupby(key, observed=True).agg(
        sources=("source", "size"), answered=("answered", "sum"), f1_of_all=("f1_of_all", "mean")
    )
    of_answered = rows[rows["answered"]].groupby(key, observed=True)[list(MEASURES)].mean()
    found = of_all.join(of_answered).fillna(0.0).reset_index()
    found = found.assign(approach=found["approach"].astype(str), bin=[names[code] for code in found["bin"]])
    return found[[*key, "sources", "answered", *MEASURES, "f1_of_all"]]


def _bins(corpus: Corpus, places: list[tuple[str, str]], trait: Trait) -> tuple[Sequence[str], list[int]]:
    """Return the bins in words, in order, and the number of the bin of each (pair, source)."""
    pairs = {pair.id: pair for pair in corpus.pairs}
    unknown = next((pair for pair, _ in places if pair not in pairs), None)
    if unknown is not None:
        msg = f"the pair {unknown!r} was scored, but is not in the corpus {corpus.name!r}"
        raise InputError(msg, "give the corpus that was scored")
    owners = [(pairs[pair], source) for pair, source in places]
    if trait is Trait.LINKS:
        counts = [len(set(pair.sources_with_links[source])) for pair, source in owners]
        return LINKS, [min(count, len(LINKS)) - 1 for count in counts]
    if trait is Trait.POSITION:
        spots = [(corpus.source_of(pair).position[source], corpus.source_of(pair)) for pair, source in owners]
        return THIRDS, [3 * (2 * spot + 1) // (2 * len(document.sentences)) for spot, document in spots]
    return _length_bins([len(corpus.target_of(pair).sentences) for pair, _ in owners])


def _length_bins(lengths: list[int]) -> tuple[list[str], list[int]]:
    """Divide lengths at their quartiles; equal lengths stay together, so there can be fewer than four bins."""
    if not lengths:
        return [], []
    ends = np.unique([*np.percentile(lengths, (25, 50, 75), method="inverted_cdf"), max(lengths)]).astype(int).tolist()
    names = [f"up to {ends[0]} sentences"]
    names += [
        f"{low + 1} to {high} sentences" if high > low + 1 else f"{high} sentences" for low, high in pairwise(ends)
    ]
    return names, np.searchsorted(ends, lengths).tolist()
