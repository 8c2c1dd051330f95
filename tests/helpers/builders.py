"""Builders of small documents and corpora, and of judgments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from abcdlink.corpus.records import Corpus, Document, Pair, Sentence
from abcdlink.judgments import Candidate, Judgment, Label, Pool


def document(name: str, texts: Iterable[str], ids: str = "{n}") -> Document:
    """Make a document of these texts; ``ids`` is a pattern for sentence ids with ``{n}`` and ``{name}``."""
    sentences = (Sentence(id=ids.format(n=n, name=name), text=text) for n, text in enumerate(texts))
    return Document(id=name, sentences=tuple(sentences))


def corpus(pairs: Iterable[Pair], *documents: Document) -> Corpus:
    """Make a corpus of these pairs and documents."""
    return Corpus(name="c", documents={one.id: one for one in documents}, pairs=list(pairs))


def judgment(
    at: tuple[str, str, str], who: int | str, link: Label | bool, *, batch: int = 1, method: str = "llm", **more: Any
) -> Judgment:
    """Judge the candidate ``at`` (pair, source, target); ``who``: a pseudonym, or the number of an annotator."""
    label = link if isinstance(link, Label) else Label.LINK if link else Label.NO_LINK
    name = who if isinstance(who, str) else f"annotator-{who}"
    pair, source, target = at
    return Judgment(
        batch=batch, pair=pair, source=source, target=target, method=method, annotator=name, label=label, **more
    )


def judged(pool: Pool, candidate: Candidate, who: int | str, link: Label | bool, **more: Any) -> Judgment:
    """Judge a candidate of a pool, in the pool's batch."""
    at = (pool.pair, pool.source, candidate.target)
    return judgment(at, who, link, batch=pool.batch, method=candidate.method, **more)
