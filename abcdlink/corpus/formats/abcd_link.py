"""Reads the layout of the released ABCD-Link data (Basch et al., EACL 2026).

``docs.json`` is ``{document: {sentence id: text}}``, or nested ``{pair: {"doc1": {...}, "doc2": {...}}}``;
``*_links.json``, where there is one, is ``{pair: {"doc1": id, "doc2": id, "links": {source id: [target ids]}}}``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from abcdlink.corpus.builder import CorpusBuilder
from abcdlink.corpus.formats.files import ImportSource, read_json_object
from abcdlink.corpus.records import Corpus, Document, Pair, Sentence
from abcdlink.errors import InputError

DOCS_FILE = "docs.json"
LINKS_FILES = "*_links.json"
SIDES = ("doc1", "doc2")
ENTRY_KEYS = {"doc1", "doc2", "links"}


def read_abcd_link(given: ImportSource) -> Corpus:
    """Read a folder with ``docs.json`` and any number of ``*_links.json``.

    The documents of a nested pair are named ``<pair>_doc1`` (source) and ``<pair>_doc2`` (target).

    Raises:
        InputError: when ``docs.json`` is missing or a file is not a JSON object with unique ids.
    """
    docs = given.path / DOCS_FILE
    if not docs.is_file():
        msg = f"{docs} does not exist"
        raise InputError(msg, f"give the folder that holds {DOCS_FILE} and, if any, {LINKS_FILES}")
    builder = CorpusBuilder(given.name)
    nested = _read_documents(builder, docs, read_json_object(given.file(docs)))
    for path in sorted(given.path.glob(LINKS_FILES)):
        for pair_id, entry in read_json_object(given.file(path)).items():
            where = f"{path}, pair {pair_id!r}"
            with builder.refusing(where):
                builder.add_pair(where, _pair(pair_id, entry, nested.pop(pair_id, None)))
    for pair_id, (first, second) in nested.items():
        builder.add_pair(f"{docs}, pair {pair_id!r}", Pair(id=pair_id, source=first, target=second))
    return builder.build()


def _read_documents(builder: CorpusBuilder, path: Path, content: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Add all documents; return the nested pairs with the names of their two documents."""
    nested = {}
    for key, value in content.items():
        if _is_nested(value):
            names = (f"{key}_doc1", f"{key}_doc2")
            for name, side in zip(names, SIDES, strict=True):
                _add_document(builder, path, name, value[side])
            nested[key] = names
        else:
            _add_document(builder, path, key, value)
    return nested


def _is_nested(value: Any) -> bool:  # noqa: ANN401 - any JSON value
    return isinstance(value, dict) and set(value) == set(SIDES) and all(isinstance(value[s], dict) for s in SIDES)


def _add_document(builder: CorpusBuilder, path: Path, name: str, texts: Any) -> None:  # noqa: ANN401 - any JSON value
    where = f"{path}, document {name!r}"
    with builder.refusing(where):
        if not isinstance(texts, dict):
            msg = f"document {name!r} is a {type(texts).__name__}, not an object of sentence ids and texts"
            raise InputError(msg, 'write it as {"0": "first sentence", "1": "second sentence"}')
        sentences = tuple(Sentence(id=key, text=text) for key, text in texts.items())
        builder.add_document(where, Document(id=name, sentences=sentences))


def _pair(pair_id: str, entry: Any, nested: tuple[str, str] | None) -> Pair:  # noqa: ANN401 - any JSON value
    if not isinstance(entry, dict) or not isinstance(entry.get("links"), dict):
        msg = f"pair {pair_id!r} has no object 'links'"
        raise InputError(msg, 'write it as {"doc1": id, "doc2": id, "links": {"3": ["5", "7"]}}')
    if unknown := sorted(set(entry) - ENTRY_KEYS):
        msg = f"pair {pair_id!r} has the unknown field {unknown[0]!r}"
        raise InputError(msg, f"use only {', '.join(sorted(ENTRY_KEYS))}")
    # A nested pair has its own two documents, whatever its entry calls them.
    first, second = nested or (entry.get("doc1"), entry.get("doc2"))
    links = {source: _ids(pair_id, targets) for source, targets in entry["links"].items()}
    return Pair.model_validate({"id": pair_id, "source": first, "target": second, "links": links})


def _ids(pair_id: str, targets: Any) -> tuple[str, ...]:  # noqa: ANN401 - any JSON value
    """Read sentence ids, which may be numbers or strings, as strings."""
    if not isinstance(targets, list) or not all(isinstance(target, str | int) for target in targets):
        msg = f"pair {pair_id!r}: the targets {targets!r} are not a list of sentence ids"
        raise InputError(msg, 'write them as ["5", "7"]')
    return tuple(str(target) for target in targets)
