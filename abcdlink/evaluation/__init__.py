"""Scores of approaches against gold links, and the choice among them."""

from abcdlink.evaluation.bootstrap import Difference, Interval, bootstrap_difference, bootstrap_mean
from abcdlink.evaluation.scores import (
    AllSources,
    Scores,
    all_sources,
    macro,
    macro_by_cutoff,
    score_decisions,
    score_ranking,
)
from abcdlink.evaluation.shortlist import ApproachResult, Shortlist, shortlist

__all__ = [
    "AllSources",
    "ApproachResult",
    "Difference",
    "Interval",
    "Scores",
    "Shortlist",
    "all_sources",
    "bootstrap_difference",
    "bootstrap_mean",
    "macro",
    "macro_by_cutoff",
    "score_decisions",
    "score_ranking",
    "shortlist",
]
