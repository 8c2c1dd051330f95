"""Text -> tokens: as the paper does it, and normalised; each sentence is tokenised once and kept on disk."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from importlib.metadata import version
from typing import NamedTuple

from abcdlink.languages import ENGLISH, Tokenizer, stemmer, tokenizer
from abcdlink.progress import Progress, silent
from abcdlink.retrieval.kept import Kept, SentenceStore
from abcdlink.settings import get_settings

LOCK = threading.Lock()
"""Held while a tokenizer is used: they keep state that threads must not share."""


class TokenLists(NamedTuple):
    """The tokens of some sentences.

    Attributes:
        tokens: those of each sentence.
        kept_seconds: what those found on disk had cost when they were made.
    """

    tokens: list[list[str]]
    kept_seconds: float


class KeptTokens:
    """Tokens that are made once and kept on disk.

    Args:
        name: of the tokenizer; another one when its results change.
        make_tokenizer: makes it.
        packages: those whose version the results depend on.
    """

    def __init__(self, name: str, make_tokenizer: Callable[[], Tokenizer], packages: Sequence[str]) -> None:
        identity = "-".join([name, *(f"{package}-{version(package)}" for package in packages)])
        self._store = SentenceStore(get_settings().cache_root / "tokens", identity, LOCK)
        self._make_tokenizer = make_tokenizer

    def of(self, texts: Sequence[str], progress: Progress = silent) -> TokenLists:
        """Return the tokens of each text; the tokenizer is loaded only for new texts."""
        kept, seconds = self._store.fill(texts, self._make, "tokenise", progress)
        tokens: list[list[str]] = json.loads(b"[" + b",".join(one.blob for one in kept) + b"]")
        return TokenLists(tokens, seconds)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        """Made when it is first needed, and used under the lock."""
        return self._make_tokenizer()

    def _make(self, texts: list[str]) -> list[Kept]:
        tokenize = self._tokenizer
        return [Kept(json.dumps(tokenize(text)).encode()) for text in texts]


def paper_tokens(language: str = ENGLISH) -> KeptTokens:
    """Return token texts, for English those of the paper: spaCy's, cased, nothing removed."""
    return KeptTokens(f"paper-{language}", partial(tokenizer, language), ["spacy"])


def normalised_tokens(language: str = ENGLISH) -> KeptTokens:
    """Return stems of content words."""
    return KeptTokens(f"stems-{language}", partial(stemmer, language), ["spacy", "snowballstemmer"])
