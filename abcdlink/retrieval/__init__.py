"""Retrievers: scores of every target sentence for every source sentence."""
