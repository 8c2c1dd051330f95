"""What an approach of the benchmark decided on the synthetic pairs, and what it got wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Corpus
from abcdlink.errors import InputError
from abcdlink.evaluation.errors import ErrorAnalysis, analyse_errors
from abcdlink.layout import SYNTHETIC
from abcdlink.linking.cutoffs import chosen, cross_fitted
from abcdlink.linking.learners import gives_probabilities
from abcdlink.linking.records import Approach, ApproachKind, CutoffRule, Decision
from abcdlink.stages.benchmark import STAGE, read_benchmark
from abcdlink.stages.links import links_of
from abcdlink.stages.plan import BenchmarkPlan
from abcdlink.stages.score import divide
from abcdlink.store import Store

if TYPE_CHECKING:
    import pandas as pd


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
    """Return what an approach decided in the benchmark: by what was fitted on other folds, where something was."""

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
    """Return the plan of the benchmark; ``InputError`` when the run does not hold it."""
    plan = store.manifest.get("inputs", {}).get(STAGE)
    if plan is None:
        msg = f"the manifest of run {store.key!r} does not say how its benchmark was done"
        raise InputError(msg, f"run the stage {STAGE!r} under another run key")
    return BenchmarkPlan.model_validate(plan)
