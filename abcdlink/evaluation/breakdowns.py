"""Scores of a benchmark by cutoff, and by what kind of source sentence is hard.

All return small tables for people: ``by_cutoff`` and ``average_f1`` from the results of a benchmark,
``break_down`` from its per-source table.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np

from abcdlink.corpus.records import Corpus
from abcdlink.errors import InputError
from abcdlink.evaluation.comparisons import sampled_only
from abcdlink.evaluation.scores import MEASURES, PAPER_CUTOFFS, ApproachResult
from abcdlink.linking.records import ApproachKind

if TYPE_CHECKING:
    import pandas as pd

THIRDS = ("first third", "middle third", "last third")
LINKS = ("1 link", "2 links", "3 or more")


class Trait(StrEnum):
    """What source sentences are told apart by."""

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

    Args:
        table: the per-source table of a benchmark: approach, pair, source, precision, recall, f1, answered.
        corpus: the pairs that were scored.
        trait: what the sources are told apart by.

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
