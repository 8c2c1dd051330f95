"""Batches: the pairs that are annotated together."""

from __future__ import annotations

from collections.abc import Sequence

from abcdlink.corpus.records import Pair


def split_batches(pairs: Sequence[Pair], batches: int = 2) -> dict[str, int]:
    """Assign each pair to a batch, 1 to ``batches``: even, consecutive parts in the given order."""
    return {pair.id: 1 + index * batches // len(pairs) for index, pair in enumerate(pairs)}
