"""LLM alone: no retriever chooses candidates; every sentence of the target document is asked about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from abcdlink.corpus.records import Document
from abcdlink.linking.linker import SOURCE_WINDOW, Linker, Piece, Settle
from abcdlink.linking.windows import Shown, around, halves, letters


class AloneLinker(Linker):
    """Asks about the whole target document, or about windows of consecutive sentences where it does not fit."""

    def pieces(self, source: str, ids: tuple[str, ...]) -> list[Piece]:
        """Return one question on the whole document."""
        return [Piece(source, ids, window=ids)]

    def run(self, offered: Mapping[str, tuple[str, ...]], settle: Settle) -> None:
        """Find the windows that fit with the first source sentence; ask about all others in these.

        So the pair's size is found out once, and all questions on a window stand next to each other
        and begin with the same documents.
        """
        first, *others = offered
        last = settle(self.pieces(first, offered[first]))
        windows = dict.fromkeys((piece.window, piece.shortened) for piece in last)
        settle([Piece(source, window, window, shortened) for window, shortened in windows for source in others])

    def shown(self, piece: Piece, source: Document, target: Document) -> tuple[Shown, Shown]:
        """Return the source document, whole or the sentences around the source sentence, and the window."""
        context = around(source, [piece.source], SOURCE_WINDOW) if piece.shortened else source.sentences
        return context, around(target, piece.window, 0)

    def smaller(self, piece: Piece, source: Document, target: Document) -> list[Piece]:
        """Cut what is longer: the source document once around its sentence, or the window in two."""
        whole, near = letters(source.sentences), letters(around(source, [piece.source], SOURCE_WINDOW))
        window, single = letters(around(target, piece.window, 0)), len(piece.window) == 1
        if not piece.shortened and near < whole and (single or whole > window):
            return [replace(piece, shortened=True)]
        if single:
            return []
        parts = [(half, tuple(i for i in piece.ids if i in half)) for half in halves(piece.window)]
        return [replace(piece, ids=ids, window=half) for half, ids in parts if ids]
