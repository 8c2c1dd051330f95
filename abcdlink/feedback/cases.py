"""Borderline cases: candidates on which annotators differ, chosen for variety; never with names or methods."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence

from pydantic import Field

from abcdlink.corpus.records import Corpus, Record
from abcdlink.feedback.patterns import Pattern, View, views_of
from abcdlink.judgments import Judgment, Label, Place, by_candidate
from abcdlink.keys import opaque

MOST_CASES = 12
"""Cases of one round: about a quarter of an hour for each annotator."""


class Opinion(Record):
    """What one annotator, who is not named, said of a candidate, and marked and wrote of its task."""

    label: Label
    flags: tuple[str, ...] = ()
    comment: str = ""


class Case(Record):
    """A candidate on which annotators differ.

    ``key``: opaque and stable name of its task. ``patterns``: which it shows. ``opinions``: those who said
    Link first.
    """

    key: str
    batch: int = Field(ge=1)
    pair: str
    source: str
    target: str
    patterns: tuple[Pattern, ...]
    opinions: tuple[Opinion, ...]


def choose_cases(
    run_key: str, judgments: Sequence[Judgment], corpus: Corpus, seed: int = 13, most: int = MOST_CASES
) -> list[Case]:
    """Return the cases of a feedback round, in the order of the documents.

    One after the other is taken: of all that are left, one that shows the pattern taken least so far, then one
    of the pair, then of the source sentence taken least so far; chance, by the seed, decides between equals.

    Args:
        run_key: name of the run.
        judgments: of one batch.
        corpus: the documents that were judged.
        seed: of chance.
        most: how many cases at most.
    """
    views = views_of(judgments, corpus)
    differing = {
        key: group
        for key, group in by_candidate(judgments).items()
        if len({judgment.label for judgment in group.values()}) > 1
    }
    chosen = _in_order(_varied(sorted(differing), views, seed, most), corpus)
    return [_case(run_key, key, differing[key], views[key]) for key in chosen]


def _varied(keys: Sequence[Place], views: Mapping[Place, View], seed: int, most: int) -> list[Place]:
    left = list(keys)
    random.Random(seed).shuffle(left)  # noqa: S311 - a choice that can be repeated, no secret
    patterns, pairs, sources = Counter[Pattern | None](), Counter[str](), Counter[tuple[str, str]]()
    chosen: list[Place] = []
    while left and len(chosen) < most:

        def taken(key: Place) -> tuple[int, int, int]:
            shown = views[key].patterns or (None,)
            return min(patterns[pattern] for pattern in shown), pairs[key[0]], sources[key[:2]]

        best = min(left, key=taken)
        left.remove(best)
        chosen.append(best)
        patterns.update(views[best].patterns or (None,))
        pairs[best[0]] += 1
        sources[best[:2]] += 1
    return chosen


def _in_order(keys: Sequence[Place], corpus: Corpus) -> list[Place]:
    """Sort candidates by pair, then by the places of source and target sentence."""
    pairs = {pair.id: (number, pair) for number, pair in enumerate(corpus.pairs)}

    def place(key: Place) -> tuple[int, int, int]:
        number, pair = pairs[key[0]]
        return number, corpus.source_of(pair).position[key[1]], corpus.target_of(pair).position[key[2]]

    return sorted(keys, key=place)


def _case(run_key: str, key: Place, group: Mapping[str, Judgment], view: View) -> Case:
    pair, source, target = key
    judgments = list(group.values())
    opinions = [Opinion(label=one.label, flags=one.flags, comment=one.comment) for one in judgments]
    return Case(
        key=case_key(run_key, judgments[0].batch, key),
        batch=judgments[0].batch,
        pair=pair,
        source=source,
        target=target,
        patterns=view.patterns,
        # Sorted by what was said, so that the order does not tell who said it.
        opinions=tuple(sorted(opinions, key=lambda one: (one.label is not Label.LINK, one.flags, one.comment))),
    )


def case_key(run_key: str, batch: int, key: Place) -> str:
    """Return the opaque, stable name of a case's task: 16 hex digits."""
    return opaque(run_key, f"feedback {batch}", *key)
