"""Which inputs a model cuts because they are longer than its maximum length."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

NO_LIMIT = 10**9
"""Tokenizers without a maximum length say a number far above this one."""


def max_length(model: Any) -> int | None:  # noqa: ANN401 - sentence-transformers has no types
    """Return the maximum length of a model of sentence-transformers in tokens; ``None``: it has none."""
    lengths = [
        length
        for module in model.modules()
        for name in ("max_seq_length", "query_length", "document_length")
        if (length := getattr(module, name, None)) and length < NO_LIMIT
    ]
    return min(lengths, default=None)


@contextmanager
def watched(model: Any) -> Iterator[set[Any]]:  # noqa: ANN401
    """Yield a set into which goes every input that the model cuts while the context is open.

    The model's own reading is what is watched: an input is cut when it has more tokens, with
    special tokens and its prompt, if it is read again without a limit.
    """
    read = model.preprocess
    limit = max_length(model) or NO_LIMIT
    cut: set[Any] = set()

    def preprocess(inputs: list[Any], **options: Any) -> Any:  # noqa: ANN401
        features = read(inputs, **options)
        if "attention_mask" in features:
            whole = {**options, "processing_kwargs": {"text": {"truncation": False, "verbose": False}}}
            for one, length in zip(inputs, features["attention_mask"].sum(1).tolist(), strict=True):
                if length >= limit and int(read([one], **whole)["attention_mask"].sum()) > length:
                    cut.add(one)
        return features

    model.preprocess = preprocess
    try:
        yield cut
    finally:
        del model.preprocess
