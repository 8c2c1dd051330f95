"""Qualification: applicants judge a pair whose links are known, and the best of them are taken."""

from abcdlink.qualify.confirm import Qualified, confirm, qualified_accounts
from abcdlink.qualify.kept import applicants_of, gold_set_of, keep_gold_set
from abcdlink.qualify.propose import proposal, ranked
from abcdlink.qualify.records import Applicant, GoldSet
from abcdlink.qualify.score import score_applicants
from abcdlink.qualify.screening import Screening, add_screening, read_screening, screening_of

__all__ = [
    "Applicant",
    "GoldSet",
    "Qualified",
    "Screening",
    "add_screening",
    "applicants_of",
    "confirm",
    "gold_set_of",
    "keep_gold_set",
    "proposal",
    "qualified_accounts",
    "ranked",
    "read_screening",
    "score_applicants",
    "screening_of",
]
