"""Labels for pairs that nobody judges: probabilities for corpora of any size, and an audit of them by people."""
