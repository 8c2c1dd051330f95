"""Feedback between batches: memos, borderline cases, clearer guidelines; never which approach proposed what."""

from abcdlink.feedback.cases import Case, Opinion, choose_cases
from abcdlink.feedback.clarifications import draft_clarifications, finished
from abcdlink.feedback.guidelines import guidelines_for, newest_guidelines
from abcdlink.feedback.memos import memos
from abcdlink.feedback.outcome import Accepted, Acknowledgement, Outcome, SecondAnswer, outcome_of

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
