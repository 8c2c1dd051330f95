"""Scores of approaches against gold links, and the choice among them."""
