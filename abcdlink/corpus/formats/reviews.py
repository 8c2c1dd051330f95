"""Reads scientific papers with their reviews: F1000RD with links, and NLPeer.

F1000RD (Kuznetsov et al., "Revise and Resubmit", 2022) is a folder of submissions, each with ``v1.json`` (the paper),
``reviews/<report>.json`` and ``linking/<report>.csv``. Sentences are all ``span_nodes`` of a file, in file order.

NLPeer (Dycke et al., 2023) is cut into sentences by its authors: a folder with ``<paper>/v1/paper.itg.json`` (the
paper as an intertext graph) and, beside it, ``reviews.json``, anywhere below the folder given. The first version of a
paper is read. A review is a source document and its paper the target; papers without reviews are documents alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from abcdlink.corpus.builder import CorpusBuilder
from abcdlink.corpus.formats.files import ImportSource, read_json, read_json_object, read_table
from abcdlink.corpus.records import Corpus, Document, Pair, Sentence, pair_name
from abcdlink.errors import InputError

TABLES = "*/linking/*.csv"
SENTENCES = "span_nodes"
SIDES = ("review_sentence_id", "paper_sentence_id")
MAIN_ANNOTATORS = ("imp_a", "imp_b")
"""There is a link when both say 1. Other columns are of explicit links, of re-annotation and of experts."""


class _Text(NamedTuple):
    document: Document
    id_of: dict[str, str]
    """Node -> sentence id."""


def read_f1000rd(given: ImportSource) -> Corpus:
    """Read all submissions of a folder; a review and a paper are a pair when they have at least one link.

    Raises:
        InputError: when the folder contains no submission with a linking table.
    """
    tables = sorted(given.path.glob(TABLES))
    if not tables:
        msg = f"{given.path} contains no submission with linking/*.csv"
        raise InputError(msg, "give the folder whose subfolders have v1.json, reviews and linking")
    builder = CorpusBuilder(given.name)
    for table in tables:
        with builder.refusing(str(table)):
            _read_pair(builder, given, table)
    return builder.build()


def _read_pair(builder: CorpusBuilder, given: ImportSource, table: Path) -> None:
    links = _agreed_links(builder, given, table)
    if not links:
        return
    submission = table.parent.parent
    review = _read_text(given, submission / "reviews" / f"{table.stem}.json", table.stem)
    paper = _read_text(given, submission / "v1.json", submission.name)
    found: dict[str, list[str]] = {}
    for where, source, target in links:
        absent = [node for node, text in ((source, review), (target, paper)) if node not in text.id_of]
        if absent:
            builder.refuse(where, f"there is no sentence {absent[0]!r}", "correct the id or remove the row")
        else:
            found.setdefault(review.id_of[source], []).append(paper.id_of[target])
    if found:
        name = pair_name(review.document.id, paper.document.id)
        in_order = {source: tuple(found[source]) for source in sorted(found, key=int)}
        pair = Pair(id=name, source=review.document.id, target=paper.document.id, links=in_order)
        builder.add_whole_pair(str(table), review.document, paper.document, pair)


def _agreed_links(builder: CorpusBuilder, given: ImportSource, table: Path) -> list[tuple[str, str, str]]:
    """Return (where, review node, paper node) of the rows on which both main annotators say 1.

    The other rows, some of which name whole paragraphs, are left out by definition.
    """
    agreed = []
    for where, cells in read_table(given.file(table), (*SIDES, *MAIN_ANNOTATORS)):
        votes = [cells[column] for column in MAIN_ANNOTATORS]
        try:
            linked = all(vote and float(vote) == 1 for vote in votes)
        except ValueError:
            builder.refuse(
                where,
                f"the votes {' and '.join(votes)} are not both numbers",
                "write 1 for a link, 0 or nothing for none",
            )
            continue
        if linked:
            agreed.append((where, cells[SIDES[0]], cells[SIDES[1]]))
    return agreed


def _read_text(given: ImportSource, path: Path, name: str) -> _Text:
    nodes = read_json_object(given.file(path)).get(SENTENCES)
    if not isinstance(nodes, list) or not all(map(_is_sentence, nodes)):
        msg = f"{path} has no list {SENTENCES!r} of objects with the strings 'ix' and 'content'"
        raise InputError(msg, "use the file from the original distribution")
    sentences = tuple(Sentence(id=str(index), text=node["content"]) for index, node in enumerate(nodes))
    id_of = {node["ix"]: str(index) for index, node in enumerate(nodes)}
    if len(id_of) < len(nodes):
        msg = f"{path}: two {SENTENCES} have the same 'ix'"
        raise InputError(msg, "use the file from the original distribution")
    return _Text(Document(id=name, sentences=sentences), id_of)


def _is_sentence(node: Any) -> bool:  # noqa: ANN401 - any JSON value
    return isinstance(node, dict) and isinstance(node.get("ix"), str) and isinstance(node.get("content"), str)


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
