"""Fit a learned linker on the synthetic pairs of a run, and let it rank.

Synthetic pairs are ranked out of fold: each by a linker fitted on the other folds. Other
pairs are ranked by the linker fitted on all of them, which the run stores.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from abcdlink.corpus.io import read_corpus_from
from abcdlink.layout import SYNTHETIC, model_file
from abcdlink.linking.learned import LearnedLinker, learn, out_of_fold
from abcdlink.linking.learners import FittedLinker, base_retrievers
from abcdlink.linking.saving import from_bytes, to_bytes
from abcdlink.progress import Progress, silent
from abcdlink.stages.rank import RankingEffort, Rankings, holds_rankings, keep_rankings, read_rankings
from abcdlink.stages.score import folds_of
from abcdlink.store import Store

if TYPE_CHECKING:
    import pandas as pd


def learn_linker(
    store: Store, name: str, folds: int, progress: Progress = silent, corpus_name: str = SYNTHETIC
) -> None:
    """Fit a learned linker on the synthetic pairs and rank these out of fold, unless both are already done.

    Another corpus with gold links is also ranked out of fold, but no linker fitted on it is stored.

    The rankings of its retrievers must exist.

    Raises:
        InputError: when there are too few pairs to divide.
    """
    keeps_linker = corpus_name == SYNTHETIC
    if holds_rankings(store, corpus_name, name) and (store.exists(model_file(name)) or not keeps_linker):
        return
    corpus = read_corpus_from(store, corpus_name)
    base = _base(store, corpus_name, name)
    tables = {retriever: rankings.table for retriever, rankings in base.items()}
    started = time.perf_counter()
    table = out_of_fold(name, tables, corpus, folds_of(store, corpus_name, corpus, folds), progress=progress)
    _keep(store, corpus_name, name, table, base, time.perf_counter() - started)
    if keeps_linker:
        store.folder.write(model_file(name), to_bytes(learn(name, tables, corpus, progress=progress)))


def read_linker(store: Store, name: str) -> LearnedLinker | FittedLinker:
    """Return a learned linker of the run; ``InputError`` when there is none, or its file cannot be used."""
    store.require(model_file(name), "benchmark")
    return from_bytes(store.folder.read(model_file(name)), store.where(model_file(name)))


def rank_learned(store: Store, corpus_name: str, name: str) -> None:
    """Let a learned linker of the run rank another corpus of it, unless that is already done.

    The rankings of its retrievers on that corpus must exist.

    Raises:
        InputError: when the linker is missing, or was fitted on pairs of this corpus.
    """
    if holds_rankings(store, corpus_name, name):
        return
    linker = read_linker(store, name)
    base = _base(store, corpus_name, name)
    started = time.perf_counter()
    table = linker.rank({retriever: one.table for retriever, one in base.items()}, read_corpus_from(store, corpus_name))
    _keep(store, corpus_name, name, table, base, time.perf_counter() - started)


def _base(store: Store, corpus_name: str, name: str) -> dict[str, Rankings]:
    return {retriever: read_rankings(store, corpus_name, retriever, whole=True) for retriever in base_retrievers(name)}


def _keep(
    store: Store, corpus_name: str, name: str, table: pd.DataFrame, base: dict[str, Rankings], seconds: float
) -> None:
    """Store rankings with the effort they took, including that of the retrievers under them."""
    effort = RankingEffort.on_top([rankings.effort for rankings in base.values()], seconds)
    keep_rankings(store, corpus_name, name, table, effort)
