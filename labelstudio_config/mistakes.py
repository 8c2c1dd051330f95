"""How simulated annotators judge: as gold links say, with seeded mistakes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from abcdlink.corpus.records import Corpus
from abcdlink.errors import InputError
from abcdlink.judgments import Label, Pool
from labelstudio_config.pages.linking import candidate_id, documents_of


class Mistakes(NamedTuple):
    """How often an annotator errs, as probabilities: on a gold link, and on a candidate that is none."""

    missed_link: float
    false_link: float


STRICT, LENIENT = Mistakes(missed_link=0.30, false_link=0.02), Mistakes(missed_link=0.05, false_link=0.10)
"""The strictest and the most lenient annotator.

Chosen, not measured on people: where 15 % to 20 % of the candidates are gold links, as in the shipped
samples, two such annotators mostly come to a kappa of 0.5 to 0.6 in the first batch and of 0.75 later.
"""

AFTER_FEEDBACK = 0.5
"""What is left of both probabilities from the second batch on. Chosen, not measured."""


def gold_of(pools: Sequence[Pool], corpus: Corpus) -> dict[str, frozenset[str]]:
    """Return task key -> opaque ids of the candidates that are gold links; every pool has its key.

    Raises:
        InputError: when a pair has no gold links because nobody has annotated it, or a pool does not
            fit the corpus.
    """
    documents_of(pools, corpus)
    pairs = {pair.id: pair for pair in corpus.pairs}
    found = {}
    for pool in pools:
        links = pairs[pool.pair].links
        if links is None:
            msg = f"the pair {pool.pair!r} has no gold links, which simulated annotators judge by"
            raise InputError(msg, "only pairs with gold links can be simulated; let people annotate this batch")
        linked = links.get(pool.source, ())
        found[pool.key] = frozenset(candidate_id(pool.key, c.target) for c in pool.candidates if c.target in linked)
    return found


def mistakes_of(number: int, accounts: int, batch: int) -> Mistakes:
    """Return how often annotator ``number`` of ``accounts`` errs in a batch.

    Annotator 1 is the strictest, who misses most links; the last is the most lenient, who accepts most
    false ones; the others lie evenly between. From batch 2 on they have had feedback.
    """
    place = (number - 1) / max(1, accounts - 1)
    left = 1.0 if batch == 1 else AFTER_FEEDBACK
    return Mistakes(
        missed_link=left * (STRICT.missed_link + (LENIENT.missed_link - STRICT.missed_link) * place),
        false_link=left * (STRICT.false_link + (LENIENT.false_link - STRICT.false_link) * place),
    )


def judge(linked: bool, mistakes: Mistakes, seed: str) -> Label:
    """Say of one candidate what gold says, or make a mistake; the same seed gives the same label."""
    draw = random.Random(seed).random()  # noqa: S311 - mistakes, not secrets
    wrong = draw < (mistakes.missed_link if linked else mistakes.false_link)
    return Label.LINK if linked != wrong else Label.NO_LINK
