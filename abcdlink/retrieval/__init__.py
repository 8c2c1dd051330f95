"""Retrievers: scores of every target sentence for every source sentence."""

from abcdlink.retrieval.base import Effort, Retriever, rank_corpus, ranked
from abcdlink.retrieval.registry import RETRIEVERS, get_retriever

__all__ = ["RETRIEVERS", "Effort", "Retriever", "get_retriever", "rank_corpus", "ranked"]
