"""Distractors: target sentences that no approach decided, shown so that not every candidate is a proposal."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from abcdlink.corpus.records import Document, Pair


class Distractors(Protocol):
    """Chooses the distractors of one source sentence; the same arguments give the same choice."""

    def __call__(self, pair: Pair, source: str, target: Document, decided: Collection[str]) -> Sequence[str]:
        """Return ids of target sentences.

        Args:
            pair: the pair.
            source: the source sentence.
            target: the target document.
            decided: ids that an approach decided at any rank, shown or not.
        """


def sampled(size: int, seed: int) -> Distractors:
    """Return a choice of ``size`` sentences at random; fewer when the document is short.

    A sentence that repeats the words of a decided one is as good a link as that, and is not chosen. Each
    source sentence has a generator of its own, seeded by its ids: other pairs do not change its distractors.
    """

    def choose(pair: Pair, source: str, target: Document, decided: Collection[str]) -> Sequence[str]:
        texts = {target.text_of(sentence).strip() for sentence in decided}
        rest = [sentence.id for sentence in target.sentences if sentence.text.strip() not in texts]
        chooser = random.Random(f"{seed}|{pair.id}|{source}")  # noqa: S311 - no secret
        return chooser.sample(rest, min(size, len(rest)))

    return choose


def given(picks: Mapping[tuple[str, str], Sequence[str]]) -> Distractors:
    """Return the distractors that were picked before: (pair, source sentence) -> ids; none where it names none."""

    def choose(pair: Pair, source: str, target: Document, decided: Collection[str]) -> Sequence[str]:  # noqa: ARG001
        return picks.get((pair.id, source), ())

    return choose
