"""Parts of documents that are shown to a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from abcdlink.corpus.records import Document, Sentence

Shown = Sequence[Sentence | None]
"""Sentences in document order; one ``None`` for each gap between them."""


def around(document: Document, ids: Iterable[str], window: int) -> Shown:
    """Return the sentences within ``window`` of the given ones.

    Raises:
        KeyError: when the document has no sentence of an id.
    """
    near = {
        index
        for i in ids
        for index in range(document.position[i] - window, document.position[i] + window + 1)
        if 0 <= index < len(document.sentences)
    }
    shown: list[Sentence | None] = []
    for index, sentence in enumerate(document.sentences):
        if index in near:
            shown.append(sentence)
        elif not shown or shown[-1] is not None:
            shown.append(None)
    return shown


def letters(shown: Shown) -> int:
    """Return how many letters are shown: a measure of length that needs no tokenizer."""
    return sum(len(sentence.text) for sentence in shown if sentence)


def halves(ids: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Cut ids into a first and a second half; the first is the larger one where they differ."""
    middle = (len(ids) + 1) // 2
    return ids[:middle], ids[middle:]
