"""Retrievers by name."""

from __future__ import annotations

from abcdlink.errors import InputError
from abcdlink.retrieval.base import Retriever

DENSE_PART = "all-minilm-l6-v2"
"""The model in the hybrid retriever."""

RETRIEVERS = ("bm25", "all-minilm-l6-v2", "all-mpnet-base-v2", "hybrid")


def get_retriever(name: str) -> Retriever:
    """Return a new retriever.

    Raises:
        InputError: when there is none of this name, or its model is not on this machine.
    """
    if name not in RETRIEVERS:
        msg = f"there is no retriever {name!r}"
        raise InputError(msg, f"choose one of {', '.join(RETRIEVERS)}")
    if name == "bm25":
        from abcdlink.retrieval.bm25 import BM25

        return BM25()
    if name == "hybrid":
        from abcdlink.retrieval.hybrid import Hybrid

        return Hybrid(_dense(DENSE_PART))
    return _dense(name)


def _dense(name: str) -> Retriever:
    from abcdlink.retrieval.dense import Dense
    from abcdlink.retrieval.embeddings import Embedder
    from abcdlink.retrieval.models import locate

    return Dense(Embedder(name, locate(name)))
