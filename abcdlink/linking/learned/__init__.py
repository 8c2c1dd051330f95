"""Learned linkers: models on features of two sentences that rank targets by the probability of a link."""

from abcdlink.linking.learned.linker import LearnedLinker, learn, out_of_fold
from abcdlink.linking.learned.own import (
    LEARNERS,
    Example,
    FittedLinker,
    Linker,
    base_retrievers,
    gives_probabilities,
    is_learned,
)
from abcdlink.linking.learned.refit import Known, Said, refit
from abcdlink.linking.learned.saving import from_bytes, to_bytes

__all__ = [
    "LEARNERS",
    "Example",
    "FittedLinker",
    "Known",
    "LearnedLinker",
    "Linker",
    "Said",
    "base_retrievers",
    "from_bytes",
    "gives_probabilities",
    "is_learned",
    "learn",
    "out_of_fold",
    "refit",
    "to_bytes",
]
