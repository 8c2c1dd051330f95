"""Rank the target sentences of a run's corpus with one retriever."""

from __future__ import annotations

import time

from abcdlink.corpus.io import read_corpus_from
from abcdlink.layout import rankings_file
from abcdlink.progress import Progress, silent
from abcdlink.store import Store

SECONDS = "seconds"
"""Attribute of a table of rankings: how long the retriever took."""


def rank(store: Store, corpus_name: str, retriever: str, progress: Progress = silent) -> None:
    """Rank all target sentences for all source sentences, unless the run holds the rankings."""
    from abcdlink.retrieval import get_retriever, rank_corpus

    name = rankings_file(corpus_name, retriever)
    if store.exists(name):
        return
    started = time.perf_counter()
    rankings = rank_corpus(read_corpus_from(store, corpus_name), get_retriever(retriever), progress)
    # Parquet keeps the attributes of a table: the seconds stay with what they were spent on.
    rankings.attrs[SECONDS] = time.perf_counter() - started
    store.write_table(name, rankings)
