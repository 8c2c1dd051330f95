"""A benchmark of any corpus with gold links, without a run: everything is ranked and scored in memory."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import MappingProxyType

from abcdlink.corpus.records import Corpus
from abcdlink.languages import guess_language
from abcdlink.linking.fitted import Folds
from abcdlink.linking.learned import base_retrievers, out_of_fold
from abcdlink.progress import Progress, silent
from abcdlink.retrieval import Retriever, get_retriever, rank_corpus
from abcdlink.stages.plan import BenchmarkPlan
from abcdlink.stages.rank import RankingEffort, Rankings
from abcdlink.stages.score import Scored, score_cutoffs, score_rules


def benchmark_corpus(
    corpus: Corpus,
    plan: BenchmarkPlan,
    folds: Folds | None,
    progress: Progress = silent,
    retrievers: Mapping[str, Retriever] = MappingProxyType({}),
) -> list[Scored]:
    """Score the retrievers and learned linkers of a plan; its LLM is not asked.

    Args:
        corpus: pairs with gold links.
        plan: what is compared.
        folds: of the pairs; needed where the plan has something that is fitted.
        progress: shows how far it is.
        retrievers: by name, those of the plan that are not in the registry.

    Raises:
        InputError: when a retriever is not there.
    """
    language = guess_language(text for document in corpus.used_documents() for text in document.texts)
    rankings = {
        name: _rank(corpus, retrievers.get(name) or get_retriever(name, language), progress)
        for name in plan.all_retrievers
    }
    scored: list[Scored] = []
    for name in (*plan.retrievers, *(plan.learned if folds else ())):
        ranked = rankings[name] if name in rankings else _learn(corpus, name, rankings, folds, progress)
        scored += score_cutoffs(corpus, name, ranked, plan, folds)
        scored += score_rules(corpus, name, ranked, plan, folds) if folds else ()
    return scored


def _rank(corpus: Corpus, retriever: Retriever, progress: Progress) -> Rankings:
    started = time.perf_counter()
    table = rank_corpus(corpus, retriever, progress)
    seconds, effort = time.perf_counter() - started, retriever.effort
    return Rankings(
        table,
        RankingEffort(seconds=seconds, kept_seconds=effort.kept_seconds, cut=effort.cut, max_length=effort.max_length),
    )


def _learn(
    corpus: Corpus, name: str, rankings: dict[str, Rankings], folds: Folds | None, progress: Progress
) -> Rankings:
    base = {part: rankings[part] for part in base_retrievers(name)}
    started = time.perf_counter()
    table = out_of_fold(name, {part: one.table for part, one in base.items()}, corpus, folds or {}, progress=progress)
    effort = RankingEffort.on_top([one.effort for one in base.values()], time.perf_counter() - started)
    return Rankings(table, effort)
