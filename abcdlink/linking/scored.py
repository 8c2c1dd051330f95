"""An LLM's scores as a rankings table, so that cutoffs are fitted on them as on any retriever's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from abcdlink.errors import InputError
from abcdlink.linking.records import Approach, Decision
from abcdlink.retrieval.base import ranked

if TYPE_CHECKING:
    import pandas as pd


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
    """Decide anew by a rule on the scores; what was asked and what came of it stays as it was.

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
