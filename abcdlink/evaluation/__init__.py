"""Scores of approaches against gold links, how sure their differences are, and the choice among them."""
