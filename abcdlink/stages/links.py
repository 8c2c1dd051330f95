"""What a shortlisted approach decides on the natural pairs of a run."""

from __future__ import annotations

from collections.abc import Sequence

from abcdlink.corpus.io import read_corpus_from
from abcdlink.errors import InputError
from abcdlink.evaluation.shortlist import Shortlist
from abcdlink.layout import NATURAL
from abcdlink.linking.cutoffs import FittedCutoff, chosen
from abcdlink.linking.records import Approach, ApproachKind, CutoffRule, Decision
from abcdlink.linking.scored import decide_scored, scored_rankings
from abcdlink.linking.top_k import decide_chosen
from abcdlink.stages.decide import read_decisions
from abcdlink.stages.rank import read_rankings
from abcdlink.store import Store


def decided_links(store: Store, shortlist: Shortlist, approach: Approach, size: int) -> Sequence[Decision]:
    """Return what an approach of the shortlist decides on the natural pairs; rankings and answers must be there.

    A retriever with a fixed cutoff fills its ``size`` places in the pool also when its cutoff is
    smaller: people judge a pool of this size anyway, and more candidates mean more links found. A
    rule or a learned linker means what it decides.

    Raises:
        InputError: when the fitted cutoff is not in the shortlist, or was fitted on these very pairs.
    """
    corpus = read_corpus_from(store, NATURAL)
    if approach.kind is ApproachKind.LLM:
        decisions = read_decisions(store, NATURAL, approach).decisions
        if approach.rule is None:
            return decisions
        scores = scored_rankings(decisions)
        return decide_scored(approach, decisions, scores, chosen(scores, _fitted(shortlist, approach), corpus))
    rankings = read_rankings(store, NATURAL, approach.retriever).table
    if isinstance(approach.cutoff, CutoffRule):
        cutoff: int | FittedCutoff = _fitted(shortlist, approach)
    else:
        cutoff = max(approach.k, size) if approach.kind is ApproachKind.RETRIEVER else approach.k
    return decide_chosen(approach.name, rankings, chosen(rankings, cutoff, corpus))


def _fitted(shortlist: Shortlist, approach: Approach) -> FittedCutoff:
    fitted = shortlist.fitted.get(approach.name)
    if fitted is None:
        msg = f"the shortlist holds no fitted cutoff for {approach.name}"
        raise InputError(msg, "make the shortlist anew from a benchmark that fitted it")
    return fitted
