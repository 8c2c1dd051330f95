"""From nothing to a human-labelled data set of sentence-level links between documents.

The library knows neither Prefect nor Label Studio: documents come in, links go out. Importing it is quick:
each of its names is loaded when it is first used. See ``docs/python.md``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from abcdlink.api import agreement, benchmark
    from abcdlink.candidates.pools import build_pools
    from abcdlink.corpus.io import read_corpus
    from abcdlink.domain import find_domain
    from abcdlink.linking.learners import Example, Linker
    from abcdlink.llm.client import LLM
    from abcdlink.retrieval.base import Retriever
    from abcdlink.store import open_run

__version__ = "0.1.0"

__all__ = [
    "LLM",
    "Example",
    "Linker",
    "Retriever",
    "agreement",
    "benchmark",
    "build_pools",
    "find_domain",
    "open_run",
    "read_corpus",
]

_HOMES = {
    "LLM": "abcdlink.llm.client",
    "Example": "abcdlink.linking.learners",
    "Linker": "abcdlink.linking.learners",
    "Retriever": "abcdlink.retrieval.base",
    "agreement": "abcdlink.api",
    "benchmark": "abcdlink.api",
    "build_pools": "abcdlink.candidates.pools",
    "find_domain": "abcdlink.domain",
    "open_run": "abcdlink.store",
    "read_corpus": "abcdlink.corpus.io",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever has the name
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
