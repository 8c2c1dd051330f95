"""Reads NLPeer (Dycke et al., 2023): scientific papers with their reviews, cut into sentences by its authors.

A folder with ``<paper>/v1/paper.itg.json`` (the paper as an intertext graph) and, beside it, ``reviews.json``, anywhere
below the folder given: one of NLPeer's data sets or all of them. The first version of a paper is read. A review is a
source document and its paper the target; papers without reviews are documents alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from abcdlink.corpus.builder import CorpusBuilder
from abcdlink.corpus.formats.files import ImportSource, read_json, read_json_object
from abcdlink.corpus.records import Corpus, Document, Pair, Sentence, pair_name
from abcdlink.errors import InputError

GRAPH, REVIEWS = "paper.itg.json", "reviews.json"
VERSION = re.compile(r"v(\d+)")
SENTENCE_TYPES = ("s", "sentence")
"""Types of the spans that are sentences; others are line numbers, references and the like."""
TEXT_TYPES = ("title", "article-title", "abstract", "heading", "paragraph", "p", "list_item")
"""Types of nodes whose text is cut into sentences where a graph has no sentences of its own."""
MAIN = "main"
"""The field of a review that has no structure; the name of any other field is a sentence of its own."""
HINT = "use the file from the original distribution"


def read_nlpeer(given: ImportSource) -> Corpus:
    """Read all papers and reviews below a folder; sentences are as supplied, white space included.

    A paper is named by its folder, a review ``<paper>__<rid>``. The metadata say ``kind``, ``paper`` and ``dataset``.

    Raises:
        InputError: when the folder contains no paper.
    """
    graphs = _first_versions(given.path)
    if not graphs:
        msg = f"{given.path} contains no paper (no folder v1 with {GRAPH})"
        raise InputError(msg, "give a data set of NLPeer, with a folder for each paper in data")
    builder = CorpusBuilder(given.name)
    for path in graphs:
        with builder.refusing(str(path)):
            paper = _paper(given, path)
            reviews = path.with_name(REVIEWS)
            if given.choices.targets or not reviews.is_file():
                builder.add_document(str(path), paper)
            else:
                _add_reviews(builder, given, given.file(reviews), paper)
    return builder.build()


def _first_versions(folder: Path) -> list[Path]:
    first: dict[Path, tuple[int, Path]] = {}
    for path in sorted(folder.rglob(f"v*/{GRAPH}")):
        version = VERSION.fullmatch(path.parent.name)
        if version:
            found = int(version[1]), path
            first[path.parent.parent] = min(found, first.get(path.parent.parent, found))
    return [path for _, path in first.values()]


def _paper(given: ImportSource, path: Path) -> Document:
    graph = read_json_object(given.file(path))
    nodes = {node["ix"]: node for node in _nodes(path, graph, "nodes")}
    folder = path.parent.parent
    meta = {
        "kind": "paper",
        "paper": folder.name,
        "dataset": folder.parent.parent.name if folder.parent.name == "data" else folder.parent.name,
    }
    spans = [span for span in _nodes(path, graph, "span_nodes") if span.get("ntype") in SENTENCE_TYPES]
    if not spans:
        texts = [str(node.get("content") or "") for node in nodes.values() if node.get("ntype") in TEXT_TYPES]
        return given.texts.document(folder.name, "\n\n".join(texts), meta=meta)
    sentences = (Sentence(id=str(number), text=_content(path, span, nodes)) for number, span in enumerate(spans))
    return Document(id=folder.name, sentences=tuple(sentences), meta=meta)


def _nodes(path: Path, graph: dict[str, Any], name: str) -> list[dict[str, Any]]:
    nodes = graph.get(name, [])
    if not isinstance(nodes, list) or not all(
        isinstance(node, dict) and isinstance(node.get("ix"), str) for node in nodes
    ):
        msg = f"{path} has no list {name!r} of objects with the string 'ix'"
        raise InputError(msg, HINT)
    return nodes


def _content(path: Path, span: dict[str, Any], nodes: dict[str, dict[str, Any]]) -> str:
    """Return the text of a sentence: as it stands, else from where to where it goes in its node."""
    if isinstance(span.get("content"), str):
        return str(span["content"])
    text, start, end = nodes.get(span.get("src_ix", ""), {}).get("content"), span.get("start"), span.get("end")
    if not isinstance(text, str) or not isinstance(start, int) or not isinstance(end, int):
        msg = f"{path}: the sentence {span['ix']!r} has neither content nor a place in a node"
        raise InputError(msg, HINT)
    return text[start:end]


def _add_reviews(builder: CorpusBuilder, given: ImportSource, path: Path, paper: Document) -> None:
    reviews = read_json(path)
    if not isinstance(reviews, list):
        msg = f"{path} contains a {type(reviews).__name__}, not a list of reviews"
        raise InputError(msg, HINT)
    added = 0
    for number, review in enumerate(reviews):
        where = f"{path}, review {number}"
        with builder.refusing(where):
            source = _review(given, review, number, paper)
            name = pair_name(source.id, paper.id)
            builder.add_whole_pair(where, source, paper, Pair(id=name, source=source.id, target=paper.id))
            added += 1
    if not added:
        builder.add_document(str(path), paper)


def _review(given: ImportSource, review: Any, number: int, paper: Document) -> Document:  # noqa: ANN401 - any JSON value
    report = review.get("report") if isinstance(review, dict) else None
    if not isinstance(report, dict):
        msg = "it has no object 'report' of texts"
        raise InputError(msg, HINT)
    supplied = (review.get("meta") or {}).get("sentences")
    rid = str(review.get("rid") or number)
    fields = {name: text for name, text in report.items() if isinstance(text, str) and text.strip()}
    if not fields:
        msg = f"review {rid!r} has no text"
        raise InputError(msg, "nothing to do: it has nothing to link")
    texts = []
    for name, text in fields.items():
        if name != MAIN:
            texts.append(f"{name}:")
        spans = supplied.get(name) if isinstance(supplied, dict) else supplied if len(fields) == 1 else None
        texts += _by_spans(text, spans) if isinstance(spans, list) else given.texts.document(rid, text).texts
    sentences = tuple(Sentence(id=str(place), text=text) for place, text in enumerate(texts))
    return Document(id=f"{paper.id}__{rid}", sentences=sentences, meta=paper.meta | {"kind": "review"})


def _by_spans(text: str, spans: list[Any]) -> Iterator[str]:
    """Yield the sentences of a field without white space around them; blank ones are left out."""
    for span in spans:
        if not (isinstance(span, list) and len(span) == 2 and all(isinstance(one, int) for one in span)):  # noqa: PLR2004
            msg = f"{span!r} is not the [start, end] of a sentence"
            raise InputError(msg, HINT)
        if sentence := text[span[0] : span[1]].strip():
            yield sentence
