"""Retriever + LLM, pairwise: one question per source sentence and candidate."""

from __future__ import annotations

from collections.abc import Sequence

from abcdlink.linking.linker import Piece
from abcdlink.linking.listwise import ListwiseLinker

KEY = "related"


class PairwiseLinker(ListwiseLinker):
    """Asks about each candidate by itself; the documents are shown, and shortened, as in a listwise question."""

    def pieces(self, source: str, ids: tuple[str, ...]) -> list[Piece]:
        """Return one question per candidate."""
        return [Piece(source, (target,)) for target in ids]

    def keys(self, ids: Sequence[str]) -> Sequence[str]:  # noqa: ARG002 - the same for every candidate
        """Return the one key of an answer: it is ``{"related": bool}``."""
        return (KEY,)
