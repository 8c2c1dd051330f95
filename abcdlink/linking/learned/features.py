"""The features of each two sentences of a pair, for the models of learned linkers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.records import Corpus, Pair
from abcdlink.linking.learned.matrices import BaseScores
from abcdlink.linking.learned.names import read_name
from abcdlink.linking.learned.relations import neighbours, relations
from abcdlink.linking.learned.texts import Texts, positions
from abcdlink.progress import Progress, silent
from abcdlink.retrieval.fusion import z_scores

if TYPE_CHECKING:
    import pandas as pd

FUSED = (0.5, 0.5, 1.0)
"""Weights of the base retrievers in their fusion, as in the retriever ``hybrid``."""
SHORT = ("jaccard", "bm25", "dense")
"""The base retrievers in the names of features, whichever model is the dense one."""


class Features:
    """Features of the pairs of one corpus.

    Args:
        name: of the learned linker; it names the base retrievers.
        rankings: base retriever -> its rankings of the corpus.
        corpus: the documents.
        position: whether the places of sentences in their documents are features too.
        progress: told of sentences that are tokenised.

    Raises:
        InputError: when the rankings of a base retriever are missing.
    """

    def __init__(
        self,
        name: str,
        rankings: Mapping[str, pd.DataFrame],
        corpus: Corpus,
        *,
        position: bool,
        progress: Progress = silent,
    ) -> None:
        self._corpus = corpus
        self._position = position
        self._scores = BaseScores(read_name(name).retrievers, rankings, corpus)
        self._texts = Texts(list(corpus.used_documents()), progress)

    def of(self, pair: Pair) -> NDArray[np.float32]:
        """Return the features of a pair.

        Returns:
            Shape (source sentences * target sentences, features), the targets of a source together, in
            document order.

        Raises:
            InputError: when rankings do not hold every two sentences of the pair once.
        """
        source, target = self._corpus.source_of(pair), self._corpus.target_of(pair)
        columns = self._of_scores(pair) | self._texts.of(source, target)
        if self._position:
            columns |= positions(len(source.sentences), len(target.sentences))
        return np.stack([values.ravel() for values in columns.values()], axis=1, dtype=np.float32)

    def _of_scores(self, pair: Pair) -> dict[str, NDArray[np.float64]]:
        scores = dict(zip(SHORT, self._scores.of(pair), strict=True))
        z = {kind: z_scores(matrix) for kind, matrix in scores.items()}
        z["fused"] = np.sum([weight * matrix for weight, matrix in zip(FUSED, z.values(), strict=True)], axis=0)
        columns = {f"{kind}_score": scores[kind] for kind in ("jaccard", "dense")}
        for kind, matrix in z.items():
            columns |= {f"{kind}_{name}": values for name, values in relations(matrix).items()}
        for kind in ("dense", "fused"):
            columns |= {f"{kind}_{name}": values for name, values in neighbours(z[kind]).items()}
        return columns
