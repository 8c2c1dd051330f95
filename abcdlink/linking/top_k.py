"""From rankings to decisions: the top-ranked targets of a source, or those that a rule has chosen, are its links."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from abcdlink.linking.records import Decision

if TYPE_CHECKING:
    import pandas as pd


def chosen_targets(rankings: pd.DataFrame, chosen: NDArray[np.bool_]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the chosen targets, best first, by pair and source sentence.

    Pairs and sources come in the order of the rankings; a source without a chosen target has none.

    Args:
        rankings: as ``rank_corpus`` gives, its rows in any order.
        chosen: whether a row is chosen, shape (rows,).
    """
    owners = rankings[["pair", "source"]].drop_duplicates()
    best: dict[str, dict[str, tuple[str, ...]]] = {}
    for pair, source in zip(owners["pair"].astype(str), owners["source"].astype(str), strict=True):
        best.setdefault(pair, {})[source] = ()
    top = rankings.loc[chosen, ["pair", "source", "target", "rank"]]
    owner = top.groupby(["pair", "source"], observed=True, sort=False).ngroup().to_numpy()
    top = top.iloc[np.lexsort((top["rank"].to_numpy(), owner))]
    starts = np.flatnonzero(np.diff(np.sort(owner), prepend=-1)).tolist()
    pairs, sources, targets = (top[name].astype(str).tolist() for name in ("pair", "source", "target"))
    for start, end in pairwise([*starts, len(top)]):
        best[pairs[start]][sources[start]] = tuple(targets[start:end])
    return best


def top_k(rankings: pd.DataFrame, cutoff: int) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the ``cutoff`` best targets of each source, as ``chosen_targets`` does.

    These are the links of a retriever, and what is offered to an LLM.
    """
    return chosen_targets(rankings, (rankings["rank"] <= cutoff).to_numpy())


def decide_chosen(name: str, rankings: pd.DataFrame, chosen: NDArray[np.bool_]) -> list[Decision]:
    """Decide that the chosen rows of rankings are links: one decision for every source, also where it is none.

    ``offered`` stays empty: what ranks chooses among the whole target document.

    Args:
        name: of the approach.
        rankings: as ``rank_corpus`` gives, its rows in any order.
        chosen: whether a row is a link, shape (rows,), see ``linking.cutoffs``.
    """
    return [
        Decision(approach=name, pair=pair, source=source, targets=targets)
        for pair, by_source in chosen_targets(rankings, chosen).items()
        for source, targets in by_source.items()
    ]
