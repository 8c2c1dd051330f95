"""Synthetic pairs with known links, written by an LLM."""

from abcdlink.generation.pairs import generate_pair
from abcdlink.generation.records import GeneratedPair, Strategy

__all__ = ["GeneratedPair", "Strategy", "generate_pair"]
