"""Learned linkers by name, such as ``learned-logistic``, or ``learned-boosting:bge-m3`` with another model."""

from __future__ import annotations

from typing import NamedTuple

from abcdlink.errors import InputError

LEARNERS = ("learned-logistic", "learned-boosting")
LEXICAL = ("jaccard", "bm25-stemmed")
DENSE = "all-minilm-l6-v2"


class LearnerName(NamedTuple):
    """A learner, and the retrievers whose scores it learns from: two lexical ones and one with a model."""

    learner: str
    retrievers: tuple[str, ...]


def is_learned(name: str) -> bool:
    """Tell whether a name is that of a learned linker, of a known learner or not."""
    return name.startswith("learned-")


def base_retrievers(name: str) -> tuple[str, ...]:
    """Return the retrievers whose rankings a learned linker needs; ``InputError`` when there is no such linker."""
    return read_name(name).retrievers


def read_name(name: str) -> LearnerName:
    """Read a name; ``InputError`` when there is no such learned linker."""
    learner, colon, dense = name.partition(":")
    if learner not in LEARNERS or (colon and not dense) or dense in LEXICAL:
        msg = f"there is no learned linker {name!r}"
        raise InputError(msg, f"choose {' or '.join(LEARNERS)}, with another model's retriever as {LEARNERS[0]}:bge-m3")
    return LearnerName(learner, (*LEXICAL, dense or DENSE))
