"""Reads and writes a corpus in the layout of this project: three JSON Lines files in one folder.

``documents.jsonl`` and ``pairs.jsonl`` hold the records, ``refused.jsonl`` what was refused while importing, and
``removed_lines.jsonl`` what was removed from plain text. ``pairs.jsonl`` is written last, so that a folder which holds
it is complete.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from abcdlink.corpus.builder import CorpusBuilder
from abcdlink.corpus.records import Corpus, Document, Pair, Refusal
from abcdlink.corpus.shelf import MOST_WORKED_ON, Shelf
from abcdlink.errors import InputError
from abcdlink.folders import open_folder
from abcdlink.layout import ORIGIN
from abcdlink.store import Store

DOCUMENTS = "documents.jsonl"
PAIRS = "pairs.jsonl"
REFUSED = "refused.jsonl"
REMOVED_LINES = "removed_lines.jsonl"
ANOTHER_FOLDER = "give another folder, or delete this one"


def read_corpus(folder: str | Path) -> Corpus:
    """Read the corpus in a local folder or below an ``s3://`` prefix; it is named after the folder.

    Raises:
        InputError: when a file is missing, or a line of it is not a record; the line is named.
            Pairs and links that name absent documents or sentences are refused and counted instead.
    """
    return _read(_store_of(folder), "", _name_of(folder))


def write_corpus(corpus: Corpus, folder: str | Path, origin: dict[str, Any] | None = None) -> None:
    """Write a corpus to a local folder or an ``s3://`` prefix, each file whole or not at all.

    ``origin``: what it was made from and how, which runs note in their manifest.
    """
    store = _store_of(folder)
    if origin is not None:
        store.write_json(ORIGIN, origin)
    if corpus.removed_lines or store.exists(REMOVED_LINES):
        store.write_records(REMOVED_LINES, corpus.removed_lines)
    write_corpus_to(store, "", corpus)


def read_origin(folder: str | Path) -> dict[str, Any]:
    """Return what the corpus in a folder was made from; empty where that is not known."""
    store = _store_of(folder)
    return store.read_json(ORIGIN, dict[str, Any]) if store.exists(ORIGIN) else {}


def refuse_to_replace(folder: str | Path, origin: dict[str, Any], hint: str) -> bool:
    """Refuse to write over a corpus that was made of something else; returns whether one is replaced.

    ``origin``: what the new one is made of, as far as that is known before it is read.

    Raises:
        InputError: when the folder has a corpus from another source or format, or made by other steps.
    """
    store = _store_of(folder)
    if not store.exists(PAIRS):
        return False
    before = read_origin(folder)
    if _made_of(before) != _made_of(origin):
        what = f", imported from {before['imported_from']}" if "imported_from" in before else ""
        msg = f"{store.where()} holds another corpus{what}"
        raise InputError(msg, hint)
    return True


def _made_of(origin: dict[str, Any]) -> tuple[Any, ...]:
    steps = [step.partition(":")[0] for step in origin.get("history", ())]
    return origin.get("imported_from"), origin.get("format"), *steps


def with_step(origin: dict[str, Any], step: str, **about: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    """Return the origin of a corpus that was made from another one.

    The manifest and the data card list all steps (``history``): what was done, for people, and ``about`` it in numbers.
    """
    return {**origin, **about, "history": [*origin.get("history", []), step]}


def read_corpus_from(store: Store, prefix: str) -> Corpus:
    """Read the corpus that a run keeps under ``prefix`` (``natural``, ``synthetic``); errors as ``read_corpus``."""
    return _read(store, f"{prefix}/", prefix)


def write_corpus_to(store: Store, prefix: str, corpus: Corpus) -> None:
    """Write a corpus into a run under ``prefix``; an empty prefix is the run's folder itself."""
    start = f"{prefix}/" if prefix else ""
    documents = corpus.documents
    if isinstance(documents, Shelf):
        store.folder.write(start + DOCUMENTS, documents.lines())
    else:
        store.write_records(start + DOCUMENTS, documents.values())
    store.write_records(start + REFUSED, corpus.refused)
    store.write_records(start + PAIRS, corpus.pairs)


def _read(store: Store, start: str, name: str) -> Corpus:
    for file in (DOCUMENTS, PAIRS):
        if not store.exists(start + file):
            msg = f"no corpus at {store.where(start)}: {file} is missing"
            raise InputError(msg, "make one with `abcdlink import FORMAT SOURCE --out FOLDER`")
    builder = CorpusBuilder(name, MOST_WORKED_ON)
    if store.exists(start + REFUSED):
        for refusal in store.read_records(start + REFUSED, Refusal):
            builder.refuse(refusal.where, refusal.reason, refusal.hint)
    documents, pairs = store.where(start + DOCUMENTS), store.where(start + PAIRS)
    for document in store.each_record(start + DOCUMENTS, Document):
        builder.add_document(documents, document)
    for pair in store.each_record(start + PAIRS, Pair):
        builder.add_pair(pairs, pair)
    return builder.build()


def _store_of(folder: str | Path) -> Store:
    return Store(open_folder(str(folder)), _name_of(folder))


def _name_of(folder: str | Path) -> str:
    text = str(folder)
    return text.rstrip("/").rpartition("/")[2] if text.startswith("s3://") else Path(folder).resolve().name
