"""What a pair is, whatever it is called: hashes of its texts."""

from __future__ import annotations

import hashlib

from abcdlink.corpus.records import Corpus, Document

LENGTH = 32
"""Hexadecimal digits that are kept: 128 bits."""


def document_fingerprint(document: Document) -> str:
    """Return a hash of the texts of a document's sentences in order; ids do not count."""
    digest = hashlib.sha256()
    for text in document.texts:
        data = text.encode("utf-8", "surrogatepass")
        # The length before the text: where a sentence ends must not be in doubt.
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()[:LENGTH]


def pair_fingerprints(corpus: Corpus) -> dict[str, str]:
    """Return pair id -> a hash of the texts of its source and its target document; links do not count."""
    texts = {document.id: document_fingerprint(document) for document in corpus.used_documents()}
    return {
        pair.id: hashlib.sha256(f"{texts[pair.source]}>{texts[pair.target]}".encode()).hexdigest()[:LENGTH]
        for pair in corpus.pairs
    }
