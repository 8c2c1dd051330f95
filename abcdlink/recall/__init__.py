"""True recall: source sentences whose every target was judged, and what approaches find of their links."""

from abcdlink.recall.gold import ExhaustiveGold, gold_of
from abcdlink.recall.measure import lists_of, measure
from abcdlink.recall.records import (
    EXHAUSTIVE,
    NO_BATCH,
    Over,
    Recall,
    RecallRow,
    Sample,
    SampledSource,
    Source,
    View,
)
from abcdlink.recall.sample import exhaustive_key, sample_sources

__all__ = [
    "EXHAUSTIVE",
    "NO_BATCH",
    "ExhaustiveGold",
    "Over",
    "Recall",
    "RecallRow",
    "Sample",
    "SampledSource",
    "Source",
    "View",
    "exhaustive_key",
    "gold_of",
    "lists_of",
    "measure",
    "sample_sources",
]
