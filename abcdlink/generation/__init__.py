"""Synthetic pairs with known links, written by an LLM."""

from abcdlink.generation.pairs import generate_pair
from abcdlink.generation.records import GeneratedPair, Strategy
from abcdlink.generation.shape import Means, ShapeRow, Size, compare_shape, learn_shape, means_of, sizes_of, usable

__all__ = [
    "GeneratedPair",
    "Means",
    "ShapeRow",
    "Size",
    "Strategy",
    "compare_shape",
    "generate_pair",
    "learn_shape",
    "means_of",
    "sizes_of",
    "usable",
]
