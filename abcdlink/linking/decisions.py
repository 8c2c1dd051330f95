"""From rankings and scores to decisions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from abcdlink.errors import InputError
from abcdlink.linking.records import Approach, Decision
from abcdlink.retrieval.base import ranked

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


def scored_rankings(decisions: Sequence[Decision]) -> pd.DataFrame:
    """Return the scored candidates of decisions with scores, best first.

    Ties keep the order in which the candidates were offered. An unknown candidate has no row, and a
    source sentence of which nothing is known has none at all.

    Returns:
        One row per (pair, source sentence, scored candidate) in the order of the decisions: ``pair``,
        ``source``, ``target`` (categorical ids), ``score`` (float64, from 0 to 1), ``rank`` (int32, from 1).

    Raises:
        InputError: when a decision knows links but no scores.
    """
    import pandas as pd

    rows: list[tuple[str, str, str, float, int]] = []
    for decision in decisions:
        known = [target for target in decision.offered if target in decision.scores]
        if len(known) + len(decision.unknown) != len(decision.offered):
            msg = f"{decision.approach} has no scores on the source {decision.source!r} of the pair {decision.pair!r}"
            raise InputError(msg, "let the LLM score by votes or by probability")
        scores = [decision.scores[target] for target in known]
        rows += [
            (decision.pair, decision.source, known[index], scores[index], rank)
            for rank, index in enumerate(ranked(np.array(scores)).tolist(), start=1)
        ]
    table = pd.DataFrame(rows, columns=["pair", "source", "target", "score", "rank"])
    categories = {
        name: pd.Categorical(table[name], categories=list(dict.fromkeys(table[name].tolist())))
        for name in ("pair", "source", "target")
    }
    return table.assign(**categories).astype({"score": "float64", "rank": "int32"})


def decide_scored(
    approach: Approach, decisions: Sequence[Decision], rankings: pd.DataFrame, chosen: NDArray[np.bool_]
) -> list[Decision]:
    """Decide again by a rule on the scores; what was asked and what came of it stays as it was.

    Args:
        approach: with the rule.
        decisions: of the same approach without it.
        rankings: what ``scored_rankings`` gives for them.
        chosen: for each row of it, whether it is a link.
    """
    links: dict[tuple[str, str], list[str]] = {}
    top = rankings[chosen]
    for pair, source, target in zip(top["pair"], top["source"], top["target"], strict=True):
        links.setdefault((pair, source), []).append(target)
    return [
        decision.model_copy(
            update={"approach": approach.name, "targets": tuple(links.get((decision.pair, decision.source), ()))}
        )
        for decision in decisions
    ]
