"""Feedback after a batch: borderline cases, on which annotators disagree, and the outcome of discussing them.

A case never names people or methods. Second answers never change the judgments of the batch: agreement is that of
the first, independent answers.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import Field

from abcdlink.corpus.records import Corpus, Record
from abcdlink.feedback.patterns import CandidateView, Pattern, views_of
from abcdlink.judgments import AtPlace, Judgment, Label, Place, by_candidate, in_reading_order, opaque_id

SEED = 13
MOST_CASES = 12
"""Cases of one round: about a quarter of an hour for each annotator."""


class Opinion(Record):
    """What one annotator (unnamed) said of a candidate, and the flags and comment on its task."""

    label: Label
    flags: tuple[str, ...] = ()
    comment: str = ""


class Case(AtPlace):
    """A candidate on which annotators differ.

    ``key``: opaque and stable name of its task. ``patterns``: which it shows. ``opinions``: those who said
    Link first.
    """

    key: str
    batch: int = Field(ge=1)
    patterns: tuple[Pattern, ...]
    opinions: tuple[Opinion, ...]


def choose_cases(run_key: str, judgments: Sequence[Judgment], corpus: Corpus) -> list[Case]:
    """Return the cases of a feedback round, in the order of the documents.

    One after the other is taken: of all that are left, one that shows the pattern taken least so far, then one
    of the pair, then of the source sentence taken least so far; chance, always the same, decides between equals.
    """
    views = views_of(judgments, corpus)
    differing = {
        key: group
        for key, group in by_candidate(judgments).items()
        if len({judgment.label for judgment in group.values()}) > 1
    }
    chosen = in_reading_order(_varied(sorted(differing), views), corpus)
    return [_case(run_key, key, differing[key], views[key]) for key in chosen]


def _varied(keys: Sequence[Place], views: Mapping[Place, CandidateView]) -> list[Place]:
    left = list(keys)
    random.Random(SEED).shuffle(left)  # noqa: S311 - a choice that can be repeated, no secret
    patterns, pairs, sources = Counter[Pattern | None](), Counter[str](), Counter[tuple[str, str]]()
    chosen: list[Place] = []
    while left and len(chosen) < MOST_CASES:

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


def _case(run_key: str, key: Place, group: Mapping[str, Judgment], view: CandidateView) -> Case:
    pair, source, target = key
    judgments = list(group.values())
    opinions = [Opinion(label=one.label, flags=one.flags, comment=one.comment) for one in judgments]
    return Case(
        key=opaque_id(run_key, f"feedback {judgments[0].batch}", *key),
        batch=judgments[0].batch,
        pair=pair,
        source=source,
        target=target,
        patterns=view.patterns,
        # Sorted by what was said, so that the order does not tell who said it.
        opinions=tuple(sorted(opinions, key=lambda one: (one.label is not Label.LINK, one.flags, one.comment))),
    )


class SecondAnswer(AtPlace):
    """What an annotator said of a case after reading what others said of it."""

    batch: int
    annotator: str
    label: Label
    comment: str = ""
    submitted: datetime | None = None


class Acknowledgement(Record):
    """An annotator read the guidelines; ``question``: whether something is still unclear; ``comment``: what."""

    batch: int
    annotator: str
    question: bool
    comment: str = ""
    submitted: datetime | None = None


class Accepted(Record):
    """What the coordinator decided about a feedback round.

    ``by``: who said so (``coordinator`` or ``auto_feedback``). ``clarifications``: what was added to the
    guidelines; ``edited``: whether that is other than the draft. ``label_studio_round``: whether annotators answer
    again in Label Studio. ``guidelines``: version from now on; ``None`` when the run keeps none.
    """

    by: str
    clarifications: str = ""
    edited: bool = False
    label_studio_round: bool = False
    guidelines: int | None = None


class FeedbackOutcome(Record):
    """The outcome of a round.

    ``cases``: disagreements that were shown. ``answered``: those that at least two of their annotators judged
    again. ``resolved``: of these, all said the same. ``changed``: annotator -> cases on which the second answer is
    another than the first. ``acknowledged``: who read the guidelines; ``missing``: annotators of the batch who did
    not. ``questions``: who still has one.
    """

    cases: int = 0
    answered: int = 0
    resolved: int = 0
    changed: dict[str, int] = Field(default_factory=dict)
    acknowledged: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()


def settled(judgments: Sequence[Judgment], answers: Sequence[SecondAnswer]) -> dict[Place, SecondAnswer]:
    """Return the last answer on each candidate that was settled: all who judged it answered again, the same."""
    again = by_candidate(answers)
    return {
        at: list(again[at].values())[-1]
        for at, group in by_candidate(judgments).items()
        if at in again and group.keys() <= again[at].keys() and len({one.label for one in again[at].values()}) == 1
    }


def outcome_of(
    cases: Sequence[Case],
    judgments: Sequence[Judgment],
    answers: Sequence[SecondAnswer],
    acknowledgements: Sequence[Acknowledgement],
) -> FeedbackOutcome:
    """Count the outcome of a round: first answers (``judgments``) against second ones (``answers``)."""
    first, second = by_candidate(judgments), by_candidate(answers)
    changed: Counter[str] = Counter()
    answered = resolved = 0
    for case in cases:
        again = {who: one.label for who, one in second.get(case.at, {}).items() if who in first[case.at]}
        changed.update(who for who, label in again.items() if label is not first[case.at][who].label)
        if len(again) > 1:
            answered += 1
            resolved += len(set(again.values())) == 1
    read = {one.annotator for one in acknowledgements}
    return FeedbackOutcome(
        cases=len(cases),
        answered=answered,
        resolved=resolved,
        changed=dict(sorted(changed.items())),
        acknowledged=tuple(sorted(read)),
        missing=tuple(sorted({judgment.annotator for judgment in judgments} - read)),
        questions=tuple(sorted(one.annotator for one in acknowledgements if one.question)),
    )
