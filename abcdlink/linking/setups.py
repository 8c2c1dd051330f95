"""What one question to an LLM is about: all candidates of a source sentence, one, or the whole target document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from abcdlink.corpus.records import Document
from abcdlink.domain import Domain
from abcdlink.linking.linker import SOURCE_WINDOW, TARGET_WINDOW, LLMLinker, Piece, Settle, answer_schema
from abcdlink.linking.prompts import Shown, around, halves, letters, thoughts_key
from abcdlink.linking.records import Approach, Setup

if TYPE_CHECKING:
    from abcdlink.llm.client import LLM


class ListwiseLinker(LLMLinker):
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


THOUGHTS, THOUGHTS_PER_ID = 120, 40
"""Room for the thoughts of a two-step answer, in tokens: some 2 sentences, and one for each candidate."""


class TwoStepLinker(ListwiseLinker):
    """Asks as a listwise question does, and lets the model think in words before it decides."""

    def schema(self, keys: Sequence[str], *documents: Document) -> dict[str, Any]:
        """Return the schema of a listwise answer that begins with thoughts: models write keys in this order."""
        decided, key = answer_schema(keys), thoughts_key(*documents)
        properties = {key: {"type": "string"}, **decided["properties"]}
        return {**decided, "properties": properties, "required": [key, *decided["required"]]}

    def room(self, candidates: int) -> int:
        """Return the most tokens that an answer with its thoughts needs."""
        return super().room(candidates) + THOUGHTS + THOUGHTS_PER_ID * candidates


KEY = "related"


class PairwiseLinker(ListwiseLinker):
    """Asks about each candidate by itself; the documents are shown, and shortened, as in a listwise question."""

    def pieces(self, source: str, ids: tuple[str, ...]) -> list[Piece]:
        """Return one question per candidate."""
        return [Piece(source, (target,)) for target in ids]

    def keys(self, ids: Sequence[str]) -> Sequence[str]:  # noqa: ARG002 - the same for every candidate
        """Return the one key of an answer: it is ``{"related": bool}``."""
        return (KEY,)


class LLMOnlyLinker(LLMLinker):
    """LLM only: asks about the whole target document, or about windows of it where it does not fit."""

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


LINKERS: dict[Setup, type[LLMLinker]] = {
    Setup.LISTWISE: ListwiseLinker,
    Setup.TWO_STEP: TwoStepLinker,
    Setup.PAIRWISE: PairwiseLinker,
    Setup.LLM_ONLY: LLMOnlyLinker,
}


def linker_for(domain: Domain, llm: LLM, approach: Approach) -> LLMLinker:
    """Return what lets an LLM decide as an approach says.

    Raises:
        InputError: when the approach asks no LLM.
    """
    return LINKERS[approach.setup](domain, llm, approach)
