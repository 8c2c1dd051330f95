"""True recall: source sentences whose every target was judged, and what approaches find of their links."""

from abcdlink.exhaustive.gold import ExhaustiveGold, gold_of
from abcdlink.exhaustive.measure import lists_of, measure
from abcdlink.exhaustive.records import (
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
from abcdlink.exhaustive.sample import exhaustive_key, sample_sources

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
