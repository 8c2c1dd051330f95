"""Text -> tokens: as the paper does it, and normalised.

Each function returns a tokenizer of its own, since spaCy's and Snowball's keep state and
threads must not share it.
"""

from __future__ import annotations

from collections.abc import Callable

Tokenizer = Callable[[str], list[str]]


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
