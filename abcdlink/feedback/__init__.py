"""Feedback between batches: memos, borderline cases, clearer guidelines; never which approach proposed what."""

from abcdlink.feedback.cases import (
    Accepted,
    Acknowledgement,
    Case,
    Opinion,
    Outcome,
    SecondAnswer,
    choose_cases,
    outcome_of,
)
from abcdlink.feedback.guidelines import guidelines_for, newest_guidelines
from abcdlink.feedback.texts import draft_clarifications, finished, memos

__all__ = [
    "Accepted",
    "Acknowledgement",
    "Case",
    "Opinion",
    "Outcome",
    "SecondAnswer",
    "choose_cases",
    "draft_clarifications",
    "finished",
    "guidelines_for",
    "memos",
    "newest_guidelines",
    "outcome_of",
]
