"""Scores of every approach of a benchmark, from rankings and from decisions of an LLM.

What is fitted (a learned linker, a cutoff by a rule) is scored on each pair as fitted on the
other folds; the cutoff fitted on all pairs is stored with that score, for use on new pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from abcdlink.corpus.gold import Gold
from abcdlink.corpus.records import Corpus, Pair
from abcdlink.errors import InputError
from abcdlink.evaluation.results import ApproachResult, Calibration, calibration_of, count_outcomes
from abcdlink.evaluation.scores import (
    all_sources,
    all_sources_by_cutoff,
    all_sources_chosen,
    f1_interval,
    macro,
    score_chosen,
    score_decisions,
    score_ranking,
)
from abcdlink.layout import folds_file
from abcdlink.linking.cutoffs import cross_fitted, cross_fitted_words, fit_cutoff
from abcdlink.linking.decisions import decide_scored, scored_rankings
from abcdlink.linking.fitted import FittedCutoff, Folds, make_folds
from abcdlink.linking.learners import gives_probabilities, is_learned
from abcdlink.linking.records import Aim, Approach, ApproachKind, Scoring
from abcdlink.stages.decide import DecisionPart
from abcdlink.stages.plan import BenchmarkPlan, SourceSample
from abcdlink.stages.rank import Rankings
from abcdlink.store import Store

if TYPE_CHECKING:
    import pandas as pd


FEWEST_FOLDS = 3


class Scored(NamedTuple):
    """One approach: its result, its scores on each source with links, and its cutoff if that is a fitted rule."""

    result: ApproachResult
    table: pd.DataFrame
    fitted: FittedCutoff | None = None


def divide(corpus: Corpus, most: int, group: Callable[[Pair], str] | None = None) -> Folds:
    """Divide the pairs into at most ``most`` folds; there are no more than groups of pairs that share no document.

    Raises:
        InputError: when there are fewer than three folds: one to score, one to learn and one to calibrate.
    """
    for count in range(most, FEWEST_FOLDS, -1):
        with suppress(InputError):
            return make_folds(corpus, count, group)
    return make_folds(corpus, FEWEST_FOLDS, group)


def folds_of(store: Store, corpus_name: str, corpus: Corpus, most: int) -> Folds:
    """Return the folds of a corpus of the run: those that someone chose, else those of ``divide``."""
    chosen = folds_file(corpus_name)
    return store.read_json(chosen, dict[str, int]) if store.exists(chosen) else divide(corpus, most)


def score_cutoffs(
    corpus: Corpus, name: str, rankings: Rankings, plan: BenchmarkPlan, folds: Folds | None
) -> Iterator[Scored]:
    """Score one retriever or learned linker at every fixed cutoff."""
    if not plan.cutoffs:
        return
    frame = score_ranking(corpus, rankings.table, plan.cutoffs, plan.definition)
    over_all_sources = all_sources_by_cutoff(corpus, rankings.table, plan.cutoffs)
    calibrated = _calibration(corpus, rankings.table) if gives_probabilities(name) else None
    for cutoff in plan.cutoffs:
        approach = Approach(kind=kind_of(name), retriever=name, cutoff=cutoff)
        table = frame[frame["cutoff"] == cutoff]
        result = _of_rankings(
            corpus,
            approach,
            table,
            rankings,
            all_sources=over_all_sources[cutoff],
            fitted=_fitted(corpus, folds) if approach.kind is ApproachKind.LEARNED else "",
            calibration=calibrated,
        )
        yield Scored(result, _named(table, approach))


def score_rules(corpus: Corpus, name: str, rankings: Rankings, plan: BenchmarkPlan, folds: Folds) -> Iterator[Scored]:
    """Score one retriever or learned linker with every cutoff by rule."""
    known = gives_probabilities(name)
    calibrated = _calibration(corpus, rankings.table) if known else None
    for rule in plan.rules:
        approach = Approach(kind=kind_of(name), retriever=name, cutoff=rule)
        chosen, _, p = cross_fitted(rule, rankings.table, corpus, folds, aim=plan.aim, probabilities=known)
        table = score_chosen(corpus, rankings.table, chosen)
        result = _of_rankings(
            corpus,
            approach,
            table,
            rankings,
            all_sources=all_sources_chosen(corpus, rankings.table, chosen),
            fitted=_fitted(corpus, folds, plan.aim),
            calibration=calibrated if known or p is None else _calibration(corpus, rankings.table.assign(score=p)),
        )
        fitted = fit_cutoff(rule, rankings.table, corpus, aim=plan.aim, probabilities=known)
        yield Scored(result, _named(table, approach), fitted)


def score_llm(
    corpus: Corpus,
    approach: Approach,
    part: DecisionPart,
    offered_cost: float,
    folds: Folds | None,
    aim: Aim = Aim.PAPER,
    sample: SourceSample | None = None,
) -> Scored:
    """Score all decisions of an approach with an LLM.

    ``offered_cost``: seconds that its retriever took for the whole corpus. ``folds``: of the pairs, if a rule is
    fitted; ``aim``: of the rule. ``sample``: the source sentences that it was asked about; ``None`` for all.
    """
    decisions, fitted = list(part.decisions), None
    scores = scored_rankings(decisions) if approach.scoring is not Scoring.ANSWER else None
    if approach.rule and scores is not None:
        chosen = cross_fitted(approach.rule, scores, corpus, folds or {}, aim=aim).chosen
        decisions = decide_scored(approach, decisions, scores, chosen)
        fitted = fit_cutoff(approach.rule, scores, corpus, aim=aim)
    table, asked_share = score_decisions(corpus, decisions), 1.0
    if sample:
        drawn = [sample.holds(pair, source) for pair, source in zip(table["pair"], table["source"], strict=True)]
        table = table[drawn]
        everything = sum(len(corpus.source_of(pair).sentences) for pair in corpus.pairs)
        asked_share = sample.size / max(everything, 1)
    result = ApproachResult(
        approach=approach,
        **macro(table).model_dump(),
        interval=f1_interval(table),
        all_sources=all_sources(corpus, decisions),
        seconds=part.usage.seconds + offered_cost * asked_share,
        cost=part.usage.cost,
        pairs=len(corpus.pairs) * asked_share,
        sampled_from=sample.linked_population if sample else 0,
        fitted=_fitted(corpus, folds, aim) if fitted else "",
        calibration=None if scores is None else _calibration(corpus, scores),
        outcomes=count_outcomes(decisions),
        prompt_hash=part.prompt_hash,
    )
    return Scored(result, _named(table, approach), fitted)


def kind_of(name: str) -> ApproachKind:
    """Tell whether a learned linker or a retriever has this name."""
    return ApproachKind.LEARNED if is_learned(name) else ApproachKind.RETRIEVER


def _of_rankings(
    corpus: Corpus,
    approach: Approach,
    table: pd.DataFrame,
    rankings: Rankings,
    **rest: Any,  # noqa: ANN401
) -> ApproachResult:
    """Return the result of an approach without an LLM; ``rest``: what differs between fixed cutoffs and rules."""
    return ApproachResult(
        approach=approach,
        **macro(table).model_dump(),
        interval=f1_interval(table),
        seconds=rankings.effort.cost,
        pairs=len(corpus.pairs),
        truncated=rankings.effort.truncated,
        **rest,
    )


def _fitted(corpus: Corpus, folds: Folds | None, aim: Aim | None = None) -> str:
    return cross_fitted_words(corpus.name, len(set(folds.values())), aim) if folds else ""


def _calibration(corpus: Corpus, table: pd.DataFrame) -> Calibration:
    return calibration_of(Gold(corpus).match(table), table["score"].to_numpy())


def _named(table: pd.DataFrame, approach: Approach) -> pd.DataFrame:
    """Add the approach to the per-source scores; without an LLM, every source is answered."""
    columns = ["approach", "kind", "cutoff", "pair", "source", "precision", "recall", "f1", "answered"]
    cutoff = "" if approach.cutoff is None else str(approach.cutoff)
    answered = table.get("answered", True)
    named = table.assign(approach=approach.name, kind=approach.kind.value, cutoff=cutoff, answered=answered)
    return named[columns]
