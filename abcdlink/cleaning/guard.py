"""Reads an LLM's answer about a document as a choice among its sentences, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from abcdlink.errors import InputError

HINT = "the document stays as it was"


def kept_by_numbers(texts: Sequence[str], answer: Any, most_removed: float) -> list[int]:  # noqa: ANN401 - any JSON value
    """Return the positions of the sentences that stay, from the numbers of those that go.

    Raises:
        InputError: when a number is no position, or more than the share ``most_removed`` of the sentences would go.
    """
    if not isinstance(answer, list) or not all(isinstance(one, int) and not isinstance(one, bool) for one in answer):
        msg = "the answer is not a list of numbers"
        raise InputError(msg, HINT)
    if any(not 0 <= one < len(texts) for one in answer):
        msg = "the answer names a sentence that is not there"
        raise InputError(msg, HINT)
    return _checked([position for position in range(len(texts)) if position not in set(answer)], texts, most_removed)


def kept_by_article(texts: Sequence[str], answer: Any, most_removed: float) -> list[int]:  # noqa: ANN401 - any JSON value
    """Return the positions of the sentences that stay, from the article that came back.

    White space is ignored. All else of the article must be sentences of the document, each whole, in their order.

    Raises:
        InputError: when a word is changed, added or moved, or more than ``most_removed`` of the sentences would go.
    """
    if not isinstance(answer, str):
        msg = "the answer is not a text"
        raise InputError(msg, HINT)
    article, sentences = _bare(answer), [_bare(text) for text in texts]
    # How far into the article the first n sentences can lead: a sentence may begin like the next one.
    reached = [{0}]
    for sentence in sentences:
        before = reached[-1]
        with_it = {at + len(sentence) for at in before if sentence and article.startswith(sentence, at)}
        reached.append(before | with_it)
    if len(article) not in reached[-1]:
        msg = "the article that came back has words that the document does not have at that place"
        raise InputError(msg, HINT)
    at, kept = len(article), []
    for position in range(len(texts) - 1, -1, -1):
        start = at - len(sentences[position])
        if sentences[position] and start in reached[position] and article.startswith(sentences[position], start):
            kept.append(position)
            at = start
        elif not sentences[position]:
            kept.append(position)  # a blank sentence leaves no trace in the article
    return _checked(kept[::-1], texts, most_removed)


def _bare(text: str) -> str:
    return "".join(text.split())


def _checked(kept: list[int], texts: Sequence[str], most_removed: float) -> list[int]:
    removed = len(texts) - len(kept)
    if not any(texts[position].strip() for position in kept):
        msg = "nothing of the document would be left"
        raise InputError(msg, HINT)
    if removed > max(1, most_removed * len(texts)):
        msg = f"more than {most_removed:.0%} of the sentences would go"
        raise InputError(msg, HINT)
    return kept
