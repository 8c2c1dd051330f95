"""Synthetic source documents with known links, written by an LLM."""
