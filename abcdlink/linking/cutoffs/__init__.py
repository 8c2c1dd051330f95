"""How many of a source's ranked targets are links: a fixed number, or a rule that is fitted on gold links."""

from abcdlink.linking.cutoffs.fitting import CrossFitted, chosen, cross_fitted, cross_fitted_words, fit_cutoff
from abcdlink.linking.fitted import FittedCutoff, FittedOn

__all__ = ["CrossFitted", "FittedCutoff", "FittedOn", "chosen", "cross_fitted", "cross_fitted_words", "fit_cutoff"]
