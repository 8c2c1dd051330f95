"""Reads and writes a corpus in the layout of this project: three JSON Lines files in one folder.

``documents.jsonl`` and ``pairs.jsonl`` hold the records, ``refused.jsonl`` what was left out while
importing. ``pairs.jsonl`` is written last, so that a folder which holds it is complete.
"""

from __future__ import annotations

from pathlib import Path

from abcdlink.corpus.builder import CorpusBuilder
from abcdlink.corpus.records import Corpus, Document, Pair, Refusal
from abcdlink.errors import InputError
from abcdlink.folders import open_folder
from abcdlink.store import Store

DOCUMENTS = "documents.jsonl"
PAIRS = "pairs.jsonl"
REFUSED = "refused.jsonl"


def read_corpus(folder: str | Path) -> Corpus:
    """Read the corpus in a local folder or below an ``s3://`` prefix; it is named after the folder.

    Raises:
        InputError: when a file is missing, or a line of it is not a record; the line is named.
            Pairs and links that name absent documents or sentences are refused and counted instead.
    """
    return _read(_store_of(folder), "", _name_of(folder))


def write_corpus(corpus: Corpus, folder: str | Path) -> None:
    """Write a corpus to a local folder or an ``s3://`` prefix, each file whole or not at all."""
    write_corpus_to(_store_of(folder), "", corpus)


def read_corpus_from(store: Store, prefix: str) -> Corpus:
    """Read the corpus that a run keeps under ``prefix`` (``natural``, ``synthetic``); errors as ``read_corpus``."""
    return _read(store, f"{prefix}/", prefix)


def write_corpus_to(store: Store, prefix: str, corpus: Corpus) -> None:
    """Write a corpus into a run under ``prefix``; an empty prefix is the run's folder itself."""
    start = f"{prefix}/" if prefix else ""
    store.write_records(start + DOCUMENTS, corpus.documents.values())
    store.write_records(start + REFUSED, corpus.refused)
    store.write_records(start + PAIRS, corpus.pairs)


def _read(store: Store, start: str, name: str) -> Corpus:
    for file in (DOCUMENTS, PAIRS):
        if not store.exists(start + file):
            msg = f"no corpus at {store.where(start)}: {file} is not there"
            raise InputError(msg, "make one with `abcdlink import FORMAT SOURCE --out FOLDER`")
    builder = CorpusBuilder(name)
    if store.exists(start + REFUSED):
        for refusal in store.read_records(start + REFUSED, Refusal):
            builder.refuse(refusal.where, refusal.reason, refusal.hint)
    for document in store.read_records(start + DOCUMENTS, Document):
        builder.add_document(store.where(start + DOCUMENTS), document)
    for pair in store.read_records(start + PAIRS, Pair):
        builder.add_pair(store.where(start + PAIRS), pair)
    return builder.build()


def _store_of(folder: str | Path) -> Store:
    return Store(open_folder(str(folder)), _name_of(folder))


def _name_of(folder: str | Path) -> str:
    text = str(folder)
    return text.rstrip("/").rpartition("/")[2] if text.startswith("s3://") else Path(folder).resolve().name
