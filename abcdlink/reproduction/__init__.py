"""Reproduces the paper's tables, as far as data and models are available."""

from abcdlink.reproduction.llm import LLMTablesPlan
from abcdlink.reproduction.records import Figure, Missing, Reproduction
from abcdlink.reproduction.run import reproduce

__all__ = ["Figure", "LLMTablesPlan", "Missing", "Reproduction", "reproduce"]
