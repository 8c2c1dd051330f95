"""The sparse head of BGE-M3: a weight for each token of a text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn


class TokenWeights(nn.Module):
    """Sparse vectors over the vocabulary: w(t) = max over t's places of max(0, linear(token vector)).

    Special tokens weigh nothing (Chen et al., "BGE M3-Embedding", 2024, section 3.2, and
    FlagEmbedding's code).

    Args:
        folder: of the model; holds the linear layer as ``sparse_linear.pt``.
        tokenizer: of the model.
    """

    def __init__(self, folder: Path, tokenizer: Any) -> None:  # noqa: ANN401 - transformers' tokenizers
        super().__init__()
        state = torch.load(folder / "sparse_linear.pt", map_location="cpu", weights_only=True)
        self.linear = nn.Linear(state["weight"].shape[1], 1)
        self.linear.load_state_dict(state)
        self._vocabulary = len(tokenizer)
        self._special = list(tokenizer.all_special_ids)

    def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
        """Add ``sentence_embedding`` of shape (texts, vocabulary)."""
        tokens = features["token_embeddings"].to(self.linear.weight.dtype)
        weights = self.linear(tokens).squeeze(-1).relu() * features["attention_mask"]
        vectors = weights.new_zeros(len(weights), self._vocabulary)
        vectors.scatter_reduce_(1, features["input_ids"], weights, "amax")
        vectors[:, self._special] = 0
        features["sentence_embedding"] = vectors
        return features
