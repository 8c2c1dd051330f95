"""Ratings: people say how good documents are, synthetic ones among natural ones, without knowing which are which."""

from abcdlink.rate.criteria import Criterion, criteria_of
from abcdlink.rate.kept import has_ratings, keep_ratings, keep_sample, kept_criteria, ratings_of, sample_of
from abcdlink.rate.prepare import prepare
from abcdlink.rate.records import RatedDocument, Rating
from abcdlink.rate.sample import sample_documents
from abcdlink.rate.summary import RatingSummary, summarise

__all__ = [
    "Criterion",
    "RatedDocument",
    "Rating",
    "RatingSummary",
    "criteria_of",
    "has_ratings",
    "keep_ratings",
    "keep_sample",
    "kept_criteria",
    "prepare",
    "ratings_of",
    "sample_documents",
    "sample_of",
    "summarise",
]
