"""Candidate pools: what annotators are shown for each source sentence, and what they are not."""

from abcdlink.candidates.batches import split_batches
from abcdlink.candidates.build import NO_BATCH, PoolResult, build_pools, task_key
from abcdlink.candidates.distractors import Distractors, given, sampled
from abcdlink.candidates.modes import Next, PoolMode, PoolRules, Proposals

__all__ = [
    "NO_BATCH",
    "Distractors",
    "Next",
    "PoolMode",
    "PoolResult",
    "PoolRules",
    "Proposals",
    "build_pools",
    "given",
    "sampled",
    "split_batches",
    "task_key",
]
