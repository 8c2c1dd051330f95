"""Candidate pools: what annotators are shown for each source sentence, and what they are not."""

from abcdlink.candidates.build import NO_BATCH, PoolResult, build_pools, task_key
from abcdlink.candidates.modes import Distractors, Next, PoolMode, PoolRules, Proposals, given, sampled, split_batches

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
