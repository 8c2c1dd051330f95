"""Cross encoders: a model reads the two sentences together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.records import Document
from abcdlink.errors import InputError
from abcdlink.progress import Progress, silent
from abcdlink.retrieval.base import Effort, Retriever
from abcdlink.retrieval.encoders import BATCH, MODELS_LOCK, Use, load, require
from abcdlink.retrieval.models import max_length, watched


class CrossEncoder(Retriever):
    """Scores of ``sentence_transformers.CrossEncoder``, as logits.

    Logits give the same order as the probabilities that some models make of them, but these are
    so close to 0 or 1 that many are alike when rounded.

    Args:
        name: the retriever's name.
        use: which model, and its maximum length in tokens of the two sentences together.
    """

    cells_per_part = 10_000

    def __init__(self, name: str, use: Use) -> None:
        self.name = name
        self._use = use
        self._effort = Effort()

    @property
    def effort(self) -> Effort:
        """What ``prepare`` and the scores since then needed; pairs of sentences are counted, repeated ones too."""
        return self._effort

    def prepare(self, documents: Sequence[Document], progress: Progress = silent) -> None:
        """Load the model; replaces what was prepared before."""
        self._model = load(_cross, self._use)
        self._effort = Effort(max_length=max_length(self._model))
        self._texts = {document.id: document.texts for document in progress(documents, f"prepare ({self.name})")}

    def score(self, source: Document, target: Document) -> NDArray[np.float64]:
        """Return logits; two sentences that occur several times are read once."""
        from torch.nn import Identity

        sources, targets = self._texts[source.id], self._texts[target.id]
        position: dict[tuple[str, str], int] = {}
        places = np.array([[position.setdefault((one, other), len(position)) for other in targets] for one in sources])
        with MODELS_LOCK, watched(self._model) as cut:
            logits = self._model.predict(
                list(position), batch_size=BATCH, activation_fn=Identity(), show_progress_bar=False
            )
            pairs = self._effort.cut_pairs + int(np.array([pair in cut for pair in position])[places].sum())
            self._effort = self._effort.model_copy(update={"cut": pairs, "cut_pairs": pairs})
        scores: NDArray[np.float64] = np.asarray(logits, np.float64)[places]
        return scores


def _cross(use: Use, device: str | None) -> Any:  # noqa: ANN401 - sentence-transformers has no types
    import sentence_transformers

    require(use.folder, "CrossEncoder", "ForSequenceClassification")
    model = sentence_transformers.CrossEncoder(
        str(use.folder), device=device, local_files_only=True, max_length=use.max_length
    )
    if model.num_labels != 1:
        msg = f"the model {use.folder} gives {model.num_labels} scores for two sentences, not one"
        raise InputError(msg, "choose a cross encoder with one score, such as one for reranking")
    return model
