"""Synthetic pairs with known links, written by an LLM."""

from abcdlink.generation.pairs import generate_pair
from abcdlink.generation.records import GeneratedPair, Strategy
from abcdlink.generation.shape import ShapeRow, Size, compare_shape, learn_shape, sizes_of, usable

__all__ = [
    "GeneratedPair",
    "ShapeRow",
    "Size",
    "Strategy",
    "compare_shape",
    "generate_pair",
    "learn_shape",
    "sizes_of",
    "usable",
]
