"""Qualification: applicants judge a pair whose links are known, and the best of them are taken."""

from abcdlink.qualify.confirm import Qualified, confirm, qualified_accounts
from abcdlink.qualify.kept import applicants_of, gold_set_of, keep_gold_set
from abcdlink.qualify.propose import proposal, ranked
from abcdlink.qualify.records import Applicant, GoldSet
from abcdlink.qualify.score import score_applicants
from abcdlink.qualify.screening import (
    PAPER_ELIGIBILITY,
    Eligibility,
    Screening,
    add_screening,
    ineligible,
    keep_eligibility,
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
    "keep_gold_set",
    "proposal",
    "qualified_accounts",
    "ranked",
    "read_screening",
    "score_applicants",
    "screening_of",
]
