"""Models that turn one sentence into one vector, dense or sparse; loaded when first used."""

from __future__ import annotations

import hashlib
import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from abcdlink.errors import InputError, first_line
from abcdlink.retrieval.models import fingerprint, keep_offline, max_length, watched
from abcdlink.settings import get_settings

BATCH = 32

MODELS_LOCK = threading.RLock()
"""Held while a model is loaded or used: neither torch's settings nor tokenizers can be shared by threads."""

TERM = np.dtype([("term", "<i4"), ("weight", "<f4")])
"""One component of a sparse vector: its place and its value."""


class Use(NamedTuple):
    """How a model is used.

    Attributes:
        folder: folder of the model.
        pooling: how the vectors of the tokens become one; empty: as its files say.
        max_length: longest text in tokens; ``None``: as its files say.
        side: ``query`` or ``document`` when the model treats them differently, else empty.
        instruction: put before each text; empty: as its files say for this side.
        unit: whether vectors are normalised to length 1.
    """

    folder: Path
    pooling: str = ""
    max_length: int | None = None
    side: str = ""
    instruction: str = ""
    unit: bool = True


class Encoded(NamedTuple):
    """A vector for each text, and the texts truncated at the maximum length in tokens (``None``: there is none)."""

    vectors: list[NDArray[Any]]
    truncated: set[str]
    max_length: int | None


class Encoder(ABC):
    """Gives one vector for each text; ``dtype``: of its components; ``identity``: differs if the vectors may differ."""

    dtype: np.dtype[Any]

    def __init__(self, use: Use) -> None:
        self._use = use
        said = (fingerprint(use.folder), *use[1:])
        self.identity = hashlib.sha256(repr(said).encode()).hexdigest()[:16]

    def encode(self, texts: list[str]) -> Encoded:
        """Return the vector of each text; loads the model.

        Raises:
            InputError: when it cannot be loaded.
        """
        with MODELS_LOCK:
            model = self._load()
            with watched(model) as truncated:
                vectors = self._vectors(model, texts)
            return Encoded(vectors, truncated, max_length(model))

    @abstractmethod
    def _load(self) -> Any:  # noqa: ANN401 - sentence-transformers has no types
        """Return the model."""

    @abstractmethod
    def _vectors(self, model: Any, texts: list[str]) -> list[NDArray[Any]]:  # noqa: ANN401
        """Return the vector of each text."""

    def _call(self, model: Any) -> Callable[..., Any]:  # noqa: ANN401 - sentence-transformers has no types
        """Return the model's method for this side."""
        methods = {"": model.encode, "query": model.encode_query, "document": model.encode_document}
        method: Callable[..., Any] = methods[self._use.side]
        return method


class DenseEncoder(Encoder):
    """A model of ``sentence_transformers.SentenceTransformer``; vectors are float32 of one length."""

    dtype = np.dtype("<f4")

    def _load(self) -> Any:  # noqa: ANN401
        return load(_dense, self._use)

    def _vectors(self, model: Any, texts: list[str]) -> list[NDArray[Any]]:  # noqa: ANN401
        vectors: NDArray[np.float32] = self._call(model)(
            texts,
            prompt=self._use.instruction or None,
            batch_size=BATCH,
            normalize_embeddings=self._use.unit,
            convert_to_numpy=True,
            show_progress_bar=False,
        )
        return list(vectors.astype(np.float32, copy=False))


class SparseEncoder(Encoder):
    """A model of ``sentence_transformers.SparseEncoder``; vectors are arrays of ``TERM``, by place.

    A vector holds the components that are not 0.
    """

    dtype = TERM

    def _load(self) -> Any:  # noqa: ANN401
        return load(_sparse, self._use)

    def _vectors(self, model: Any, texts: list[str]) -> list[NDArray[Any]]:  # noqa: ANN401
        vectors = []
        # One batch at a time: a dense batch over a big vocabulary is tens of megabytes.
        for start in range(0, len(texts), BATCH):
            batch = self._call(model)(
                texts[start : start + BATCH],
                prompt=self._use.instruction or None,
                batch_size=BATCH,
                convert_to_sparse_tensor=False,
                save_to_cpu=True,
                show_progress_bar=False,
            )
            vectors += [_terms(row, unit=self._use.unit) for row in batch.float().numpy()]
        return vectors


def _terms(row: NDArray[np.float32], *, unit: bool) -> NDArray[Any]:
    places = np.flatnonzero(row)
    vector = np.empty(len(places), TERM)
    length = np.linalg.norm(row) if unit and len(places) else 1.0
    vector["term"], vector["weight"] = places, row[places] / length
    return vector


def own_settings(folder: Path) -> tuple[str, bool]:
    """Return what a model's files say: its similarity (may be empty), and whether it has two sides.

    It has two sides when it has prompts, or a router to two encoders.
    """
    said = _json(folder / "config_sentence_transformers.json") or {}
    modules = _json(folder / "modules.json") or []
    routed = any(module.get("type", "").endswith(".Router") for module in modules)
    return said.get("similarity_fn_name") or "", routed or any((said.get("prompts") or {}).values())


def require(folder: Path, kind: str, head: str) -> None:
    """Check that a model has the required head: otherwise, transformers would create a random one.

    ``kind``: class of sentence-transformers, ``head``: end of the name of a class of transformers, that it may have
    been saved by. Raises ``InputError`` when it was saved by neither.
    """
    saved_by = (_json(folder / "config_sentence_transformers.json") or {}).get("model_type")
    classes = (_json(folder / "config.json") or {}).get("architectures") or []
    if saved_by != kind and not any(name.endswith(head) for name in classes):
        msg = f"the model {folder} was not trained as a {kind}"
        raise InputError(msg, f"choose a model of class {kind} or ...{head}")


def _json(path: Path) -> Any:  # noqa: ANN401 - a foreign file
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def load(make: Callable[[Use, str | None], Any], use: Use) -> Any:  # noqa: ANN401 - sentence-transformers has no types
    """Load a model once per process, from the disk only; the two used last are kept."""
    settings = get_settings()
    with MODELS_LOCK:
        return _load(make, use._replace(side="", instruction="", unit=True), settings.device, settings.threads)


@lru_cache(maxsize=2)
def _load(make: Callable[[Use, str | None], Any], use: Use, device: str, threads: int) -> Any:  # noqa: ANN401
    keep_offline()
    import torch
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # type: ignore[no-untyped-call]
    torch.set_num_threads(threads)
    with _one_line(use.folder, device):
        return make(use, None if device == "auto" else device)


@contextmanager
def _one_line(folder: Path, device: str) -> Iterator[None]:
    """Turn everything that torch and transformers raise for bad devices and files into one clear error."""
    try:
        yield
    except (AssertionError, RuntimeError, OSError, ValueError, KeyError, TypeError, ImportError) as error:
        msg = f"the model {folder} cannot be loaded on the device {device!r}: {first_line(error)}"
        hint = "set ABCDLINK_DEVICE to auto or cpu; if files are missing or broken, download the model again"
        raise InputError(msg, hint) from None


def _dense(use: Use, device: str | None) -> Any:  # noqa: ANN401
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    if not use.pooling:
        return _limited(SentenceTransformer(str(use.folder), device=device, local_files_only=True), use)
    tokens = _token_vectors(use.folder)
    pooling = Pooling(tokens.get_embedding_dimension(), use.pooling)
    return _limited(SentenceTransformer(modules=[tokens, pooling], device=device), use)


def _sparse(use: Use, device: str | None) -> Any:  # noqa: ANN401
    import sentence_transformers

    if not use.pooling:
        require(use.folder, "SparseEncoder", "ForMaskedLM")
        model = sentence_transformers.SparseEncoder(str(use.folder), device=device, local_files_only=True)
        return _limited(model, use)
    tokens = _token_vectors(use.folder)
    weights = token_weights(use.folder, tokens.tokenizer)
    return _limited(sentence_transformers.SparseEncoder(modules=[tokens, weights], device=device), use)


def _token_vectors(folder: Path) -> Any:  # noqa: ANN401
    from sentence_transformers.base.modules import Transformer

    return Transformer(str(folder), unpad_inputs=False)


def _limited(model: Any, use: Use) -> Any:  # noqa: ANN401
    if use.max_length:
        model.max_seq_length = use.max_length
    return model


def token_weights(folder: Path, tokenizer: Any) -> Any:  # noqa: ANN401 - a torch module, a tokenizer of transformers
    """Return the sparse head of BGE-M3: w(t) = max over t's places of max(0, linear(token vector)).

    Special tokens weigh nothing (Chen et al., "BGE M3-Embedding", 2024, section 3.2, and FlagEmbedding's code). It adds
    ``sentence_embedding`` of shape (texts, vocabulary) to the features. The model's folder holds the linear layer as
    ``sparse_linear.pt``.
    """
    import torch

    state = torch.load(folder / "sparse_linear.pt", map_location="cpu", weights_only=True)
    vocabulary, special = len(tokenizer), list(tokenizer.all_special_ids)

    class TokenWeights(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(state["weight"].shape[1], 1)
            self.linear.load_state_dict(state)

        def forward(self, features: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
            tokens = features["token_embeddings"].to(self.linear.weight.dtype)
            weights = self.linear(tokens).squeeze(-1).relu() * features["attention_mask"]
            vectors = weights.new_zeros(len(weights), vocabulary)
            vectors.scatter_reduce_(1, features["input_ids"], weights, "amax")
            vectors[:, special] = 0
            features["sentence_embedding"] = vectors
            return features

    return TokenWeights()
