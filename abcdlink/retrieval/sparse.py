"""Learned sparse retrieval: dot product of weights over a vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from abcdlink.retrieval.embedded import Embedded
from abcdlink.retrieval.embeddings import Vector


class Sparse(Embedded):
    """Products of sparse vectors."""

    def _matrices(self, sources: Sequence[Vector], targets: Sequence[Vector]) -> tuple[Any, Any]:
        width = 1 + max((int(vector["term"].max()) for vector in (*sources, *targets) if len(vector)), default=0)
        first = _matrix(sources, width)
        return first, first if targets is sources else _matrix(targets, width)

    def _dense(self, sources: Any, targets: Any) -> NDArray[np.float64]:  # noqa: ANN401 - scipy has no types
        dense: NDArray[np.float64] = (sources @ targets.T).toarray()
        return dense


def _matrix(vectors: Sequence[Vector], width: int) -> Any:  # noqa: ANN401 - scipy has no types
    ends = np.cumsum([0, *map(len, vectors)])
    components = np.concatenate(vectors)
    weights = components["weight"].astype(np.float64)
    return sparse.csr_matrix((weights, components["term"], ends), shape=(len(vectors), width))
