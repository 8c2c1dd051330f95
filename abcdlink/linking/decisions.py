"""Decisions: from an LLM's answers on one source sentence, from rankings, and from scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.records import Corpus, Record
from abcdlink.domain import SentenceFilter
from abcdlink.errors import InputError
from abcdlink.linking.records import Approach, Decision, Scoring
from abcdlink.llm.records import Answer, Outcome
from abcdlink.retrieval.base import ranked

if TYPE_CHECKING:
    import pandas as pd


WORST_FIRST = (
    Outcome.FAILED,
    Outcome.TOO_LONG,
    Outcome.REFUSED,
    Outcome.TRUNCATED,
    Outcome.INVALID,
    Outcome.MISSING_IDS,
    Outcome.REPAIRED,
    Outcome.OK,
)
"""Of several outcomes, the first in this list is reported: a failing server can be fixed, so it comes before what a
model fails to do."""
VALID = (Outcome.OK, Outcome.REPAIRED, Outcome.MISSING_IDS)
"""Outcomes whose answer still counts, for the ids that it names."""


class ScoredAnswer(Record):
    """``scores``: target id -> score from 0 to 1, for the known ids; ``outcome`` of the question."""

    scores: dict[str, float]
    outcome: Outcome
    detail: str = ""


def worst(outcomes: Sequence[tuple[Outcome, str]], unit: str) -> tuple[Outcome, str]:
    """Return the worst of some outcomes with its detail, which says for how many ``unit`` it holds."""
    outcome, detail = min(outcomes, key=lambda ended: WORST_FIRST.index(ended[0]))
    count = sum(one is outcome for one, _ in outcomes)
    if len(outcomes) == 1 or outcome is Outcome.OK:
        return outcome, detail
    return outcome, f"{count} of {len(outcomes)} {unit}: {detail}"


def verdict_of(ids: Sequence[str], answers: Sequence[Answer], scores: Sequence[Mapping[str, float]]) -> ScoredAnswer:
    """Combine all samples of one question.

    An id is known when more than half of the samples score it, and its score is their mean: for plain answers the share
    of votes for a link. The question is answered if more than half of the samples are valid for every id; a minority
    that failed does not invalidate the others. ``scores``: for each sample, target id -> score.
    """
    known: dict[str, float] = {}
    open_ids: list[str] = []
    for target in ids:
        given = [of_one[target] for of_one in scores if target in of_one]
        valid = sum(target in of_one and a.outcome in VALID for a, of_one in zip(answers, scores, strict=True))
        if 2 * len(given) > len(answers):
            known[target] = sum(given) / len(given)
        if 2 * valid <= len(answers):
            open_ids.append(target)
    outcome, detail = worst([(answer.outcome, answer.detail) for answer in answers], "samples")
    if open_ids and outcome.answered:  # an answer without its probability
        return ScoredAnswer(
            scores=known, outcome=Outcome.MISSING_IDS, detail=f"no score for {', '.join(map(repr, open_ids))}"
        )
    if not open_ids and not outcome.answered:
        repaired = any(answer.outcome is Outcome.REPAIRED for answer in answers)
        return ScoredAnswer(scores=known, outcome=Outcome.REPAIRED if repaired else Outcome.OK, detail=detail)
    return ScoredAnswer(scores=known, outcome=outcome, detail=detail)


HALF = 0.5
"""A score above this is a link: more votes for than against, or more probable than not."""


class SourceAnswers:
    """Collects the answers on one source sentence.

    ``offered``: the target sentences to choose from, best first.
    """

    def __init__(self, approach: Approach, offered: tuple[str, ...]) -> None:
        self._approach, self.offered = approach, offered
        self.scores: dict[str, float] = {}
        self._outcomes: list[tuple[Outcome, str]] = []

    def know(self, scores: Mapping[str, float]) -> None:
        """Add scores by target id, 0 or 1 for a plain answer."""
        self.scores |= scores

    def close(self, verdict: ScoredAnswer) -> None:
        """Record the outcome of the last question about some candidates."""
        self._outcomes.append((verdict.outcome, verdict.detail))

    def decision(self, pair: str, source: str) -> Decision:
        """Return the decision; ids that were never answered are unknown, never ``False``."""
        outcome, detail = worst(self._outcomes, "questions") if self._outcomes else (Outcome.OK, "")
        known = [target for target in self.offered if target in self.scores]
        return Decision(
            approach=self._approach.name,
            pair=pair,
            source=source,
            targets=tuple(target for target in known if self.scores[target] > HALF),
            offered=self.offered,
            unknown=tuple(target for target in self.offered if target not in self.scores),
            scores={}
            if self._approach.scoring is Scoring.ANSWER
            else {target: self.scores[target] for target in known},
            outcome=outcome,
            detail=detail,
        )


def chosen_targets(rankings: pd.DataFrame, chosen: NDArray[np.bool_]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the chosen targets, best first, by pair and source sentence.

    Pairs and sources are in the order of the rankings; a source without a chosen target has none. ``chosen``: whether
    a row is chosen, shape (rows,).
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


def over_kept_targets(rankings: pd.DataFrame, corpus: Corpus, rules: SentenceFilter) -> pd.DataFrame:
    """Return rankings without the target sentences that a filter leaves out; lower ones move up."""
    if rules.keeps_all:
        return rankings
    pairs, targets = rankings["pair"].cat, rankings["target"].cat
    pair_of = {name: code for code, name in enumerate(pairs.categories)}
    target_of = {name: code for code, name in enumerate(targets.categories)}
    left_out = {name: rules.left_out_of(corpus.documents[name]) for name in {pair.target for pair in corpus.pairs}}
    width = len(target_of)
    out = [
        pair_of[pair.id] * width + target_of[sentence]
        for pair in corpus.pairs
        for sentence in left_out[pair.target]
        if pair.id in pair_of and sentence in target_of
    ]
    kept = ~np.isin(pairs.codes.to_numpy(np.int64) * width + targets.codes.to_numpy(), out)
    if kept.all():
        return rankings
    rest = rankings[kept].reset_index(drop=True)
    ranks = rest.groupby(["pair", "source"], observed=True)["rank"].rank("first")
    return rest.assign(rank=ranks.astype(rankings["rank"].dtype))


def top_k(rankings: pd.DataFrame, cutoff: int) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the ``cutoff`` best targets of each source, as ``chosen_targets`` does.

    These are a retriever's links, and what is offered to an LLM.
    """
    return chosen_targets(rankings, (rankings["rank"] <= cutoff).to_numpy())


def decide_chosen(name: str, rankings: pd.DataFrame, chosen: NDArray[np.bool_]) -> list[Decision]:
    """Decide that the chosen rows of rankings are links: one decision for every source, even without links.

    ``offered`` stays empty: a ranking chooses among the whole target document. ``chosen``: whether a row is a link,
    shape (rows,), see ``linking.cutoffs``.
    """
    return [
        Decision(approach=name, pair=pair, source=source, targets=targets)
        for pair, by_source in chosen_targets(rankings, chosen).items()
        for source, targets in by_source.items()
    ]


def scored_rankings(decisions: Sequence[Decision]) -> pd.DataFrame:
    """Return the scored candidates of decisions with scores, best first.

    Ties keep the order in which the candidates were offered. An unknown candidate has no row, nor does a
    source sentence about which nothing is known.

    Returns:
        One row per (pair, source sentence, scored candidate) in the order of the decisions: ``pair``,
        ``source``, ``target`` (categorical ids), ``score`` (float64, from 0 to 1), ``rank`` (int32, from 1).

    Raises:
        InputError: when a decision has links but no scores.
    """
    import pandas as pd

    rows: list[tuple[str, str, str, float, int]] = []
    for decision in decisions:
        known = [target for target in decision.offered if target in decision.scores]
        if len(known) + len(decision.unknown) != len(decision.offered):
            msg = f"{decision.approach} has no scores for the source {decision.source!r} of the pair {decision.pair!r}"
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
    """Decide again by a rule on the scores; questions and outcomes stay as they were.

    ``decisions``: those of the same approach without the rule; ``rankings``: their ``scored_rankings``;
    ``chosen``: whether a row of the rankings is a link.
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
