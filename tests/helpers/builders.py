"""Documents and corpora of a few sentences."""

from __future__ import annotations

from collections.abc import Iterable

from abcdlink.corpus.records import Corpus, Document, Pair, Refusal, Sentence


def document(name: str, texts: Iterable[str], ids: str = "{n}") -> Document:
    """Make a document of these texts; ``ids``: of its sentences, with ``{n}`` for the place and ``{name}``."""
    sentences = (Sentence(id=ids.format(n=n, name=name), text=text) for n, text in enumerate(texts))
    return Document(id=name, sentences=tuple(sentences))


def corpus(pairs: Iterable[Pair], *documents: Document, refused: Iterable[Refusal] = ()) -> Corpus:
    """Make a corpus of these pairs and documents."""
    return Corpus(name="c", documents={one.id: one for one in documents}, pairs=list(pairs), refused=list(refused))
