"""Jaccard similarity of the stems of content words."""

from __future__ import annotations

from abcdlink.retrieval.lexical import Lexical, Scorer
from abcdlink.retrieval.products import Presence
from abcdlink.retrieval.terms import TermCounts
from abcdlink.retrieval.tokens import normalised_tokens


class Jaccard(Lexical):
    """Common terms / all terms of each two sentences, on normalised tokens; from 0 to 1."""

    name = "jaccard"

    def __init__(self) -> None:
        super().__init__(normalised_tokens())

    def _make_scorer(self, terms: TermCounts) -> Scorer:
        return Presence(terms).jaccard
