"""What the generation of a synthetic pair is asked for and what comes of it."""

from __future__ import annotations

import random
from enum import StrEnum

from abcdlink.corpus.records import Document, Pair, Record, Refusal
from abcdlink.llm.records import Usage

ATTEMPTS = 3
"""How often an answer is asked for, each time with another seed, before it is refused."""


class Strategy(StrEnum):
    """How a synthetic source document is written."""

    DOCUMENT = "document"
    """The model writes the whole document and its links in one answer, as in the paper."""
    SENTENCE = "sentence"
    """The model writes one sentence at a time for chosen target sentences: the links are known
    by construction, so that small models can do it too."""


class GeneratedPair(Record):
    """A synthetic pair, or why there is none.

    ``source`` and ``pair`` are there, or ``refusal`` is. ``dropped``: sentences that were refused while
    the pair stands without them. ``usage``: what all answers have cost, cached ones included.
    """

    source: Document | None = None
    pair: Pair | None = None
    refusal: Refusal | None = None
    dropped: tuple[Refusal, ...] = ()
    usage: Usage = Usage()


class Draft(Record):
    """A source document before it has ids; all numbers are 0-based positions.

    ``links``: source sentence -> target sentences. ``reason``: why there is no draft, else empty.
    """

    sentences: tuple[str, ...] = ()
    links: tuple[tuple[int, tuple[int, ...]], ...] = ()
    reason: str = ""
    dropped: tuple[Refusal, ...] = ()
    usage: Usage = Usage()


def dice(*parts: object) -> random.Random:
    """Return random numbers that depend on the given values only, in every process."""
    return random.Random("|".join(map(str, parts)))  # noqa: S311 - no secret


def seed_of(*parts: object) -> int:
    """Return a seed for the model that depends on the given values only."""
    return dice(*parts).randrange(2**31)
