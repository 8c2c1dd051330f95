"""Learned linkers by name: ``learned-logistic``, ``learned-boosting:bge-m3`` with another model, or somebody's own."""

from __future__ import annotations

from typing import NamedTuple

from abcdlink.errors import InputError
from abcdlink.linking.learned.own import Linker
from abcdlink.plugins import find_class, installed, make

LEARNERS = ("learned-logistic", "learned-boosting")
LEXICAL = ("jaccard", "bm25-stemmed")
DENSE = "all-minilm-l6-v2"
GROUP = "abcdlink.linkers"
"""Entry points of packages that add linkers."""


class LearnerName(NamedTuple):
    """A learner, and the retrievers whose scores it learns from: two lexical ones and one with a model."""

    learner: str
    retrievers: tuple[str, ...]


def is_learned(name: str) -> bool:
    """Tell whether a name is that of a learned linker, ours (of a known learner or not) or somebody's own."""
    return name.startswith("learned-") or own_class(name) is not None


def base_retrievers(name: str) -> tuple[str, ...]:
    """Return the retrievers whose rankings a learned linker needs; ``InputError`` when there is no such linker."""
    own = own_linker(name)
    return own.retrievers if own else read_name(name).retrievers


def own_linker(name: str) -> Linker | None:
    """Return a linker that is installed as an entry point or named as ``module:Class``; ``None``: it is one of ours.

    Raises:
        InputError: when it cannot be loaded.
    """
    found = own_class(name)
    return make(found, name) if found else None


def own_class(name: str) -> type[Linker] | None:
    """Return the class of somebody's own linker; errors as ``own_linker``."""
    if name.startswith("learned-"):
        return None
    return find_class(name, GROUP, Linker)  # type: ignore[type-abstract] # the check is of subclasses


def gives_probabilities(name: str) -> bool:
    """Tell whether the scores of a learned linker are probabilities of a link."""
    own = own_linker(name)
    return own.probabilities if own else is_learned(name)


def read_name(name: str) -> LearnerName:
    """Read a name; ``InputError`` when there is no such learned linker."""
    learner, colon, dense = name.partition(":")
    if learner not in LEARNERS or (colon and not dense) or dense in LEXICAL:
        msg = f"there is no learned linker {name!r}"
        others = ", ".join((*LEARNERS[1:], *installed(GROUP), "module:Class"))
        raise InputError(msg, f"choose {LEARNERS[0]}, {others}, or another model's retriever as {LEARNERS[0]}:bge-m3")
    return LearnerName(learner, (*LEXICAL, dense or DENSE))
