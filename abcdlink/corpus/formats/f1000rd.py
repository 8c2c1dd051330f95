"""Reads F1000RD (Kuznetsov et al., "Revise and Resubmit", 2022) as links from reviews to papers.

A folder of submissions, each with ``v1.json`` (the paper), ``reviews/<report>.json`` and
``linking/<report>.csv``. Sentences are the ``span_nodes`` of a file, all of them and in file order.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from abcdlink.corpus.builder import CorpusBuilder
from abcdlink.corpus.formats.files import ImportSource, read_json_object, read_table
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
