"""Take a corpus of natural pairs into a run."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any

from abcdlink.corpus.io import read_corpus, read_corpus_from, write_corpus_to
from abcdlink.corpus.records import Corpus
from abcdlink.domain import Domain
from abcdlink.errors import InputError
from abcdlink.folders import open_folder
from abcdlink.layout import NATURAL, ORIGIN
from abcdlink.stages.once import is_done
from abcdlink.store import Store

VERSIONS = (
    "abcdlink",
    "openai",
    "pandas",
    "prefect",
    "label-studio-sdk",
    "scikit-learn",
    "sentence-transformers",
    "spacy",
)
"""Distributions whose versions a run's manifest names."""


def take_corpus(store: Store, corpus_folder: str, domain: Domain, first_pairs: int | None = None) -> Corpus:
    """Copy a corpus folder into the run and note what the run is made of.

    Args:
        store: the run.
        corpus_folder: a folder in our own layout, as ``abcdlink import`` writes it;
            ``sample`` stands for the domain's shipped sample.
        domain: what a link means.
        first_pairs: take only so many pairs, in file order; ``None``: all. All documents are taken.

    Raises:
        InputError: when the folder is missing or broken, or holds no pair.
    """
    where = str(domain.sample_folder) if corpus_folder == "sample" else corpus_folder
    inputs = {"corpus": corpus_folder, "domain": domain.label, "pairs": first_pairs}
    if is_done(store, "intake", f"{NATURAL}/pairs.jsonl", inputs):
        return read_corpus_from(store, NATURAL)
    corpus = read_corpus(where).first_pairs(first_pairs)
    if not corpus.pairs:
        msg = f"{where} holds no pair of documents"
        raise InputError(msg, "import documents with `abcdlink import`")
    describe_run(store, domain)
    counts = {"documents": len(corpus.documents), "pairs": len(corpus.pairs), "refused": len(corpus.refused)}
    store.note("corpus", {**counts, "language": domain.settings.language, **_origin(where)})
    write_corpus_to(store, NATURAL, corpus)
    return corpus


def describe_run(store: Store, domain: Domain) -> None:
    """Note in the manifest what the run is made with: domain, hashes of all prompts, versions."""
    about = {"name": domain.name, "folder": str(domain.folder), **domain.settings.model_dump(mode="json")}
    store.note("domain", about)
    store.note("prompts", domain.prompt_hashes)
    store.note("versions", {name: version(name) for name in VERSIONS})


def _origin(corpus_folder: str) -> dict[str, Any]:
    """Return what ``abcdlink import`` noted beside the corpus; a corpus from elsewhere has no such note."""
    folder = open_folder(corpus_folder)
    return dict(json.loads(folder.read(ORIGIN))) if folder.exists(ORIGIN) else {}
