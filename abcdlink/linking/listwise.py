"""Retriever + LLM, listwise: one question per source sentence, about all its candidates at once."""

from __future__ import annotations

from dataclasses import replace

from abcdlink.corpus.records import Document
from abcdlink.linking.linker import SOURCE_WINDOW, TARGET_WINDOW, Linker, Piece
from abcdlink.linking.windows import Shown, around


class ListwiseLinker(Linker):
    """Asks about all candidates of a source sentence at once; shortens the documents around them once."""

    def pieces(self, source: str, ids: tuple[str, ...]) -> list[Piece]:
        """Return one question."""
        return [Piece(source, ids)]

    def shown(self, piece: Piece, source: Document, target: Document) -> tuple[Shown, Shown]:
        """Return both documents whole, or the sentences around those that are asked about."""
        if not piece.shortened:
            return source.sentences, target.sentences
        return around(source, [piece.source], SOURCE_WINDOW), around(target, piece.ids, TARGET_WINDOW)

    def smaller(self, piece: Piece, source: Document, target: Document) -> list[Piece]:  # noqa: ARG002 - the same for all
        """Return the same question on shortened documents, once."""
        return [] if piece.shortened else [replace(piece, shortened=True)]
