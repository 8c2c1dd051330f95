"""Candidates on which annotators differ are decided: by a third person, or by the annotators together."""

from abcdlink.adjudication.disputes import disputed, pools_to_decide
from abcdlink.adjudication.records import Adjudication, by_place
from abcdlink.adjudication.summary import AdjudicationSummary, summarise

__all__ = ["Adjudication", "AdjudicationSummary", "by_place", "disputed", "pools_to_decide", "summarise"]
