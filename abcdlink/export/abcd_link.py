"""The layout of the released ABCD-Link corpora, which ``abcdlink import abcd-link`` reads again: links only."""

from __future__ import annotations

import json

from abcdlink.export.dataset import Dataset, Files

FOLDER = "abcd-link"


def files(dataset: Dataset) -> Files:
    """Return ``docs.json`` with the documents of judged pairs, and ``dataset_links.json`` with their links."""
    documents = {
        document.id: {sentence.id: sentence.text for sentence in document.sentences}
        for document in dataset.judged.documents.values()
    }
    pairs = {}
    for _, pair, candidates in dataset.by_pair():
        links: dict[str, list[str]] = {}
        for candidate in candidates:
            if candidate.link:
                links.setdefault(candidate.source, []).append(candidate.target)
        pairs[pair.id] = {"doc1": pair.source, "doc2": pair.target, "links": links}
    return Files({f"{FOLDER}/docs.json": _json(documents), f"{FOLDER}/dataset_links.json": _json(pairs)})


def _json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()
