"""What came of a feedback round: who read the guidelines, and how many disagreements were resolved.

Answers given again never change the judgments of the batch: agreement is that of the first, independent answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from pydantic import Field

from abcdlink.corpus.records import Record
from abcdlink.feedback.cases import Case
from abcdlink.judgments import Judgment, Label, Place, by_candidate


class SecondAnswer(Record):
    """What an annotator said of a case after reading what others said of it."""

    batch: int
    pair: str
    source: str
    target: str
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
    """How a feedback round went on.

    ``by``: who said so (``coordinator`` or ``auto_feedback``). ``clarifications``: what was added to the
    guidelines; ``edited``: whether that is other than the draft. ``label_studio_round``: whether annotators answer
    again in Label Studio. ``guidelines``: version from now on; ``None`` when the run keeps none.
    """

    by: str
    clarifications: str = ""
    edited: bool = False
    label_studio_round: bool = False
    guidelines: int | None = None


class Outcome(Record):
    """What came of a round.

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
    """Return the candidates that were settled: all who judged them answered again, and said the same.

    Returns:
        Candidate -> the last of these answers.
    """
    again: dict[Place, dict[str, SecondAnswer]] = {}
    for answer in answers:
        again.setdefault((answer.pair, answer.source, answer.target), {})[answer.annotator] = answer
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
) -> Outcome:
    """Count what came of a round.

    Args:
        cases: that were shown.
        judgments: of the batch; the first answers.
        answers: the second ones.
        acknowledgements: who read the guidelines.
    """
    first = by_candidate(judgments)
    second: dict[tuple[str, str, str], dict[str, Label]] = {}
    for answer in answers:
        second.setdefault((answer.pair, answer.source, answer.target), {})[answer.annotator] = answer.label
    changed: Counter[str] = Counter()
    answered = resolved = 0
    for case in cases:
        key = (case.pair, case.source, case.target)
        again = {who: label for who, label in second.get(key, {}).items() if who in first[key]}
        changed.update(who for who, label in again.items() if label is not first[key][who].label)
        if len(again) > 1:
            answered += 1
            resolved += len(set(again.values())) == 1
    read = {one.annotator for one in acknowledgements}
    return Outcome(
        cases=len(cases),
        answered=answered,
        resolved=resolved,
        changed=dict(sorted(changed.items())),
        acknowledged=tuple(sorted(read)),
        missing=tuple(sorted({judgment.annotator for judgment in judgments} - read)),
        questions=tuple(sorted(one.annotator for one in acknowledgements if one.question)),
    )
