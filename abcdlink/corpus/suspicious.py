"""Sentences that read as if they were written for a model: counted and shown, never changed.

Prompts show all texts as data (``abcdlink.domain.templates``), so that such a sentence can end nothing and look like no
other sentence; a model may still do what it says. Whoever takes documents from strangers should look at these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from abcdlink.corpus.records import Document, Note

PATTERN = re.compile(
    r"""
    \b(?:ignore|disregard|forget|override)\b[^.]{0,40}\b(?:instructions?|prompts?|rules|previous|above)\b
    | \b(?:you\ are|act\ as|pretend\ to\ be)\b[^.]{0,20}\b(?:AI|assistant|language\ model|LLM|chatbot)\b
    | \b(?:as\ an?|if\ you\ are\ an?|dear)\ (?:AI|LLM|language\ model|assistant|chatbot)\b
    | \b(?:answer|respond|reply|output|return)\b[^.]{0,20}\b(?:true|false|JSON|only\ with|with\ the\ word)\b
    | \b(?:system|developer)\ (?:prompt|message)\b
    | ^\s*(?:system|assistant|user)\s*:
    | <\|[^|>]{1,40}\|> | </?s> | \[/?INST\b | \#{3}\ *(?:instruction|response|system)
    | \{\s*"[^"]{1,40}"\s*:\s*(?:true|false|null|"|\[|\{)
    | ^\s*\[\w{1,20}\]\s*"?\w
    """,
    re.IGNORECASE | re.VERBOSE,
)
WHAT = "sentences that read like instructions to a model"


def is_suspicious(text: str) -> bool:
    """Tell whether a sentence reads like an instruction to a model, or like a part of a prompt or its answer."""
    return PATTERN.search(text) is not None


def suspicious_sentences(documents: Iterable[Document]) -> Note | None:
    """Return a note of the suspicious sentences; ``None`` when there is none."""
    found = [
        f"{document.id}, {sentence.id}: {' '.join(sentence.text.split())[:80]}"
        for document in documents
        for sentence in document.sentences
        if is_suspicious(sentence.text)
    ]
    return Note.of(WHAT, found) if found else None
