"""Candidates on which annotators differ are decided: by a third person, or by the annotators together."""

from abcdlink.adjudicate.disputes import disputed, pools_to_decide
from abcdlink.adjudicate.records import Adjudication, by_place
from abcdlink.adjudicate.summary import AdjudicationSummary, summarise

__all__ = ["Adjudication", "AdjudicationSummary", "by_place", "disputed", "pools_to_decide", "summarise"]
