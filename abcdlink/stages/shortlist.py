"""Stage shortlist; the decisions of its approaches on the natural pairs, and of any benchmarked approach on its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Corpus
from abcdlink.domain import Domain
from abcdlink.errors import InputError
from abcdlink.evaluation.errors import ErrorAnalysis, analyse_errors
from abcdlink.evaluation.shortlist import Lengths, Shortlist, ShortlistRule, mean_target_sentences, shortlist
from abcdlink.layout import CUTOFFS, NATURAL, SHORTLIST, SYNTHETIC
from abcdlink.linking.cutoffs import chosen, cross_fitted
from abcdlink.linking.decisions import decide_chosen, decide_scored, scored_rankings
from abcdlink.linking.fitted import FittedCutoff
from abcdlink.linking.learners import gives_probabilities
from abcdlink.linking.records import Approach, ApproachKind, CutoffRule, Decision, current_name
from abcdlink.stages import benchmark as benchmarked
from abcdlink.stages.benchmark import read_benchmark, read_scores
from abcdlink.stages.decide import read_decisions
from abcdlink.stages.once import is_done
from abcdlink.stages.plan import BenchmarkPlan
from abcdlink.stages.rank import read_rankings
from abcdlink.stages.score import divide
from abcdlink.store import Store

if TYPE_CHECKING:
    import pandas as pd

STAGE = "shortlist"
QUICK = {"quick": True}
"""What a run records about a shortlist that no benchmark produced."""


def run_shortlist(store: Store, rule: ShortlistRule) -> Shortlist:
    """Choose among the approaches of the benchmark, or return the stored choice.

    A rule that the benchmark cannot satisfy leaves the run unchanged, so that another can be tried.

    Raises:
        InputError: when the benchmark lacks something that the rule names, or the run's shortlist was chosen by
            another rule.
    """
    choice = None if store.exists(SHORTLIST) else _choose(store, rule)
    is_done(store, STAGE, SHORTLIST, rule)
    if choice:
        store.write_record(SHORTLIST, choice)
    return store.read_record(SHORTLIST, Shortlist)


def _choose(store: Store, rule: ShortlistRule) -> Shortlist:
    results = read_benchmark(store).approaches
    synthetic, natural = (read_corpus_from(store, name) for name in (SYNTHETIC, NATURAL))
    lengths = Lengths(benchmark=mean_target_sentences(synthetic), annotated=mean_target_sentences(natural))
    decided = partial(benchmarked_links, store, synthetic)
    choice = shortlist(results, read_scores(store), rule, lengths, decided)
    kept = store.read_json(CUTOFFS, dict[str, FittedCutoff])
    cutoffs = {current_name(name): fitted for name, fitted in kept.items()}
    fitted = {a.name: cutoffs[a.name] for a in choice.approaches if a.name in cutoffs}
    return choice.model_copy(update={"fitted": fitted})


def quick_shortlist(store: Store, domain: Domain) -> Shortlist:
    """Let BM25 alone propose candidates, without a benchmark, or return the stored choice.

    It proposes as many candidates as two approaches together.

    Raises:
        InputError: when the run's shortlist was chosen from a benchmark.
    """
    if not is_done(store, STAGE, SHORTLIST, QUICK):
        pool = domain.settings.pool
        first = Approach(kind=ApproachKind.RETRIEVER, retriever="bm25", cutoff=max(1, pool.first + pool.second))
        skipped = "A quick try: no pairs were generated and no approach was benchmarked."
        why = f"{first.name} alone proposes candidates, because it needs no LLM, no training and no model."
        store.write_record(SHORTLIST, Shortlist(first=first, reasons=(skipped, why)))
    return store.read_record(SHORTLIST, Shortlist)


def read_shortlist(store: Store) -> Shortlist:
    """Return the run's shortlist; raises ``InputError`` if there is none yet."""
    store.require(SHORTLIST, "benchmark")
    return store.read_record(SHORTLIST, Shortlist)


def is_quick(manifest: Mapping[str, Any]) -> bool:
    """Tell from a run's manifest whether it skipped generation and benchmark."""
    return bool(manifest.get("inputs", {}).get(STAGE) == QUICK)


def refuse_quick(store: Store) -> None:
    """Raise ``InputError`` for a run that skipped generation and benchmark, before anything is paid for."""
    if is_quick(store.manifest):
        msg = f"run {store.key!r} is a quick try, which skipped generation and benchmark"
        raise InputError(msg, "use another run key for the whole job, or start this one with --quick again")


def links_of(
    store: Store, corpus_name: str, approach: Approach, mask: Callable[[pd.DataFrame], NDArray[np.bool_]]
) -> Sequence[Decision]:
    """Return the decisions of an approach; rankings and answers must exist.

    ``mask`` tells which rows of its rankings, or of an LLM's scores that a rule cuts, are links.
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
    """Return what an approach of the shortlist decides on the natural pairs; rankings and answers must exist.

    A retriever with a fixed cutoff fills its ``size`` places in the pool even if its cutoff is
    smaller: people judge a pool of this size anyway, and more candidates mean more links found. A
    rule or a learned linker keeps exactly what it decides.

    Raises:
        InputError: when the fitted cutoff is not in the shortlist, or was fitted on these same pairs.
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
        msg = f"the shortlist has no fitted cutoff for {approach.name}"
        raise InputError(msg, "create a new shortlist from a benchmark that fitted it")
    return fitted


def errors_of(store: Store, name: str) -> ErrorAnalysis:
    """Analyse the errors of one approach of the run's benchmark, by its name.

    Raises:
        InputError: when there is no benchmark, or it did not score the approach.
    """
    scored = {result.approach.name: result.approach for result in read_benchmark(store).approaches}
    if name not in scored:
        msg = f"the benchmark of run {store.key!r} did not score {name!r}"
        raise InputError(msg, f"name one of {', '.join(scored)}")
    corpus = read_corpus_from(store, SYNTHETIC)
    return analyse_errors(corpus, benchmarked_links(store, corpus, scored[name]))


def benchmarked_links(store: Store, corpus: Corpus, approach: Approach) -> Sequence[Decision]:
    """Return what an approach decided in the benchmark; anything fitted was fitted on the other folds."""

    def mask(rankings: pd.DataFrame) -> NDArray[np.bool_]:
        rule = approach.rule or approach.cutoff
        if not isinstance(rule, CutoffRule):
            return chosen(rankings, approach.k, corpus)
        known = approach.kind is ApproachKind.LEARNED and gives_probabilities(approach.retriever)
        plan = _plan(store)
        return cross_fitted(
            rule, rankings, corpus, divide(corpus, plan.folds), aim=plan.aim, probabilities=known
        ).chosen

    return links_of(store, SYNTHETIC, approach, mask)


def _plan(store: Store) -> BenchmarkPlan:
    """Return the plan of the benchmark; raises ``InputError`` if the run does not have it."""
    plan = store.manifest.get("inputs", {}).get(benchmarked.STAGE)
    if plan is None:
        msg = f"the manifest of run {store.key!r} does not say how its benchmark was done"
        raise InputError(msg, f"run the stage {benchmarked.STAGE!r} under another run key")
    return BenchmarkPlan.model_validate(plan)
