"""Dense retrieval: cosine or dot product of sentence embeddings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from abcdlink.retrieval.embedded import Embedded
from abcdlink.retrieval.embeddings import Vector


class Dense(Embedded):
    """Products of dense vectors: cosines when the vectors are one long."""

    def _matrices(self, sources: Sequence[Vector], targets: Sequence[Vector]) -> tuple[Vector, Vector]:
        first = np.stack(sources)
        return first, first if targets is sources else np.stack(targets)

    def _dense(self, sources: Vector, targets: Vector) -> NDArray[np.float64]:
        product: NDArray[np.float64] = sources.astype(np.float64) @ targets.astype(np.float64).T
        return product
