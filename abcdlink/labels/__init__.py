"""Labels for pairs that nobody judges: probabilities of links, for corpora of any size."""
