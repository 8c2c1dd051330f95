"""The files in the folder of every bad-input test, and library jargon that no message may contain."""

from __future__ import annotations

from typing import Any

DOCUMENTS = (
    '{"id": "a", "sentences": [{"id": "0", "text": "The bridge opened on Monday."}, {"id": "1", "text": "It is."}]}\n'
    '{"id": "b", "sentences": [{"id": "0", "text": "Nine millions were spent."}, {"id": "1", "text": "It is open."}]}\n'
)
PAIR = '{"id": "p", "source": "a", "target": "b", "links": {"0": ["1"]}}\n'
THERE = {
    "corpus/documents.jsonl": DOCUMENTS,
    "corpus/pairs.jsonl": PAIR,
    "bare/documents.jsonl": DOCUMENTS,
    "bare/pairs.jsonl": "",
    "texts/p.source.txt": "The bridge opened.",
    "texts/p.target.txt": "Nine millions were spent.",
}
"""Files that are in the current folder for every row."""
LIBRARY_WORDS = ("Traceback", "validation error", "Input should", "Field required", "Extra inputs", "Errno", "pydantic")


def label(row: tuple[Any, ...]) -> str:
    """Name a row by its input and the message it must produce."""
    return " ".join(str(part) for part in row if part and not isinstance(part, dict))[:90]
