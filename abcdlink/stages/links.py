"""What an approach decides on a corpus of a run, from its rankings or from an LLM's answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.io import read_corpus_from
from abcdlink.errors import InputError
from abcdlink.evaluation.shortlist import Shortlist
from abcdlink.layout import NATURAL
from abcdlink.linking.cutoffs import chosen
from abcdlink.linking.decisions import decide_chosen, decide_scored, scored_rankings
from abcdlink.linking.fitted import FittedCutoff
from abcdlink.linking.records import Approach, ApproachKind, CutoffRule, Decision
from abcdlink.stages.decide import read_decisions
from abcdlink.stages.rank import read_rankings
from abcdlink.store import Store

if TYPE_CHECKING:
    import pandas as pd


def links_of(
    store: Store, corpus_name: str, approach: Approach, mask: Callable[[pd.DataFrame], NDArray[np.bool_]]
) -> Sequence[Decision]:
    """Return the decisions of an approach; rankings and answers must be there.

    Args:
        store: the run.
        corpus_name: ``natural`` or ``synthetic``.
        approach: whose decisions.
        mask: tells which rows of its rankings, or of an LLM's scores that a rule cuts, are links.
    """
    if approach.kind is not ApproachKind.LLM:
        rankings = read_rankings(store, corpus_name, approach.retriever).table
        return decide_chosen(approach.name, rankings, mask(rankings))
    decisions = read_decisions(store, corpus_name, approach).decisions
    if approach.rule is None:
        return decisions
    scores = scored_rankings(decisions)
    return decide_scored(approach, decisions, scores, mask(scores))


def decided_links(store: Store, shortlist: Shortlist, approach: Approach, size: int) -> Sequence[Decision]:
    """Return what an approach of the shortlist decides on the natural pairs; rankings and answers must be there.

    A retriever with a fixed cutoff fills its ``size`` places in the pool also when its cutoff is
    smaller: people judge a pool of this size anyway, and more candidates mean more links found. A
    rule or a learned linker means what it decides.

    Raises:
        InputError: when the fitted cutoff is not in the shortlist, or was fitted on these very pairs.
    """
    corpus = read_corpus_from(store, NATURAL)

    def mask(rankings: pd.DataFrame) -> NDArray[np.bool_]:
        if approach.rule or isinstance(approach.cutoff, CutoffRule):
            return chosen(rankings, _fitted(shortlist, approach), corpus)
        fills = approach.kind is ApproachKind.RETRIEVER
        return chosen(rankings, max(approach.k, size) if fills else approach.k, corpus)

    return links_of(store, NATURAL, approach, mask)


def _fitted(shortlist: Shortlist, approach: Approach) -> FittedCutoff:
    fitted = shortlist.fitted.get(approach.name)
    if fitted is None:
        msg = f"the shortlist holds no fitted cutoff for {approach.name}"
        raise InputError(msg, "make a new shortlist from a benchmark that fitted it")
    return fitted
