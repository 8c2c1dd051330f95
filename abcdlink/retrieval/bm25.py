"""BM25: exactly as in the paper, and better."""

from __future__ import annotations

from abcdlink.retrieval.lexical import Lexical, Scorer
from abcdlink.retrieval.products import Products
from abcdlink.retrieval.terms import TermCounts, lucene_weights, okapi_weights
from abcdlink.retrieval.tokens import normalised_tokens, paper_tokens


class BM25(Lexical):
    """BM25 Okapi on spaCy's token texts, one index per target document.

    The scores are those of ``rank_bm25.BM25Okapi`` with its defaults: a term that a source sentence
    repeats counts each time. A target document without any token scores 0.
    """

    name = "bm25"

    def __init__(self) -> None:
        super().__init__(paper_tokens())

    def _make_scorer(self, terms: TermCounts) -> Scorer:
        return Products(terms, terms.counts, okapi_weights(terms))


class StemmedBM25(Lexical):
    """BM25 on stems of content words, with Lucene's idf over all distinct sentences of all documents."""

    name = "bm25-stemmed"

    def __init__(self) -> None:
        super().__init__(normalised_tokens())

    def _make_scorer(self, terms: TermCounts) -> Scorer:
        return Products(terms, terms.counts, lucene_weights(terms))
