"""The simplest approach: the k top-ranked targets of a source are its links."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from abcdlink.errors import InputError
from abcdlink.linking.records import Approach, ApproachKind, Decision

if TYPE_CHECKING:
    import pandas as pd


def top_k(rankings: pd.DataFrame, cutoff: int) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the ``cutoff`` best targets, best first, by pair and source sentence.

    Pairs and sources come in the order of the rankings. These are the links of a retriever, and
    what is offered to an LLM.
    """
    top = rankings.loc[(rankings["rank"] <= cutoff).to_numpy(), ["pair", "source", "target", "rank"]]
    owner = top.groupby(["pair", "source"], observed=True, sort=False).ngroup().to_numpy()
    top = top.iloc[np.lexsort((top["rank"].to_numpy(), owner))]
    best: dict[str, dict[str, tuple[str, ...]]] = {}
    starts = np.flatnonzero(np.diff(np.sort(owner), prepend=-1)).tolist()
    pairs, sources, targets = (top[name].astype(str).tolist() for name in ("pair", "source", "target"))
    for start, end in pairwise([*starts, len(top)]):
        best.setdefault(pairs[start], {})[sources[start]] = tuple(targets[start:end])
    return best


def decide_top_k(approach: Approach, rankings: pd.DataFrame) -> list[Decision]:
    """Decide that the top-ranked targets up to the approach's cutoff are links, for every source.

    ``offered`` stays empty: a retriever chooses among the whole target document.

    Raises:
        InputError: when an LLM decides, or the cutoff is a rule.
    """
    if approach.kind is ApproachKind.LLM:
        msg = f"{approach.name} decides by an LLM"
        raise InputError(msg, "let the linker of its kind decide")
    return [
        Decision(approach=approach.name, pair=pair, source=source, targets=targets)
        for pair, by_source in top_k(rankings, approach.k).items()
        for source, targets in by_source.items()
    ]
