"""Qualification: applicants judge pairs whose links are known, and the best of them are taken."""

from abcdlink.qualify.applicants import (
    Applicant,
    Qualified,
    applicants_of,
    confirm,
    proposal,
    qualified_accounts,
    qualified_of,
    ranked,
    score_applicants,
)
from abcdlink.qualify.gold import GoldSet, gold_set_of
from abcdlink.qualify.screening import (
    PAPER_ELIGIBILITY,
    Eligibility,
    Screening,
    add_screening,
    ineligible,
    keep_eligibility,
    note_participants,
    read_screening,
    screening_of,
)

__all__ = [
    "PAPER_ELIGIBILITY",
    "Applicant",
    "Eligibility",
    "GoldSet",
    "Qualified",
    "Screening",
    "add_screening",
    "applicants_of",
    "confirm",
    "gold_set_of",
    "ineligible",
    "keep_eligibility",
    "note_participants",
    "proposal",
    "qualified_accounts",
    "qualified_of",
    "ranked",
    "read_screening",
    "score_applicants",
    "screening_of",
]
