"""Text -> tokens: as the paper does it, and normalised; each sentence is tokenised once and kept on disk."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import version
from typing import NamedTuple

from abcdlink.progress import Progress, silent
from abcdlink.retrieval.kept import Kept, SentenceStore
from abcdlink.settings import get_settings

Tokenizer = Callable[[str], list[str]]

LOCK = threading.Lock()
"""Held while a tokenizer is used: they keep state that threads must not share."""


def paper_tokenizer() -> Tokenizer:
    """Return the paper's tokenizer: spaCy's English token texts, cased, nothing removed."""
    import spacy

    split = spacy.blank("en").tokenizer
    return lambda text: [token.text for token in split(text)]


def normalising_tokenizer() -> Tokenizer:
    """Return a tokenizer that gives stems of content words.

    Lower case, stop words and tokens without a letter or digit out, English Snowball stems.
    """
    import snowballstemmer
    from spacy.lang.en.stop_words import STOP_WORDS

    split = paper_tokenizer()
    stemmer = snowballstemmer.stemmer("english")
    stems: dict[str, str] = {}

    def stem(word: str) -> str:
        if word not in stems:
            stems[word] = stemmer.stemWord(word)
        return stems[word]

    def tokenize(text: str) -> list[str]:
        words = (word.lower() for word in split(text))
        return [stem(word) for word in words if word not in STOP_WORDS and any(map(str.isalnum, word))]

    return tokenize


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
        tokenizer: makes it.
        packages: those whose version the results depend on.
    """

    def __init__(self, name: str, tokenizer: Callable[[], Tokenizer], packages: Sequence[str]) -> None:
        identity = "-".join([name, *(f"{package}-{version(package)}" for package in packages)])
        self._store = SentenceStore(get_settings().cache_root / "tokens", identity, LOCK)
        self._tokenizer = tokenizer

    def of(self, texts: Sequence[str], progress: Progress = silent) -> TokenLists:
        """Return the tokens of each text; the tokenizer is loaded only for new texts."""
        kept, seconds = self._store.fill(texts, self._make, "tokenise", progress)
        tokens: list[list[str]] = json.loads(b"[" + b",".join(one.blob for one in kept) + b"]")
        return TokenLists(tokens, seconds)

    def _make(self, texts: list[str]) -> list[Kept]:
        tokenize = _shared(self._tokenizer)
        return [Kept(json.dumps(tokenize(text)).encode()) for text in texts]


@cache
def _shared(tokenizer: Callable[[], Tokenizer]) -> Tokenizer:
    """Return the tokenizer of this process, to be used under the lock."""
    return tokenizer()


def paper_tokens() -> KeptTokens:
    """Return the paper's tokens."""
    return KeptTokens("paper", paper_tokenizer, ["spacy"])


def normalised_tokens() -> KeptTokens:
    """Return stems of content words."""
    return KeptTokens("stems", normalising_tokenizer, ["spacy", "snowballstemmer"])
