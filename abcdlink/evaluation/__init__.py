"""Scores of approaches against gold links, how sure their differences are, and the choice among them."""

from abcdlink.corpus.gold import Gold, Match
from abcdlink.evaluation.breakdowns import Trait, average_f1, break_down, by_cutoff
from abcdlink.evaluation.comparisons import Comparison, Unit, compare, compare_one_with_many, compare_with_best, holm
from abcdlink.evaluation.scores import (
    AllSources,
    ApproachResult,
    Scores,
    all_sources,
    all_sources_by_cutoff,
    all_sources_chosen,
    count_outcomes,
    macro,
    macro_by_cutoff,
    score_chosen,
    score_decisions,
    score_ranking,
)
from abcdlink.evaluation.shortlist import (
    Lengths,
    Shortlist,
    ShortlistRule,
    choose_cutoff,
    mean_target_sentences,
    shortlist,
)
from abcdlink.statistics import (
    MeanDifference,
    MeanInterval,
    bootstrap_differences,
    bootstrap_mean,
)

__all__ = [
    "AllSources",
    "ApproachResult",
    "Comparison",
    "Gold",
    "Lengths",
    "Match",
    "MeanDifference",
    "MeanInterval",
    "Scores",
    "Shortlist",
    "ShortlistRule",
    "Trait",
    "Unit",
    "all_sources",
    "all_sources_by_cutoff",
    "all_sources_chosen",
    "average_f1",
    "bootstrap_differences",
    "bootstrap_mean",
    "break_down",
    "by_cutoff",
    "choose_cutoff",
    "compare",
    "compare_one_with_many",
    "compare_with_best",
    "count_outcomes",
    "holm",
    "macro",
    "macro_by_cutoff",
    "mean_target_sentences",
    "score_chosen",
    "score_decisions",
    "score_ranking",
    "shortlist",
]
