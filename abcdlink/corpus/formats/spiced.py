"""Reads SPICED (Shushkevich et al., 2023): pairs of news articles on one event, in seven topics.

One CSV file with the columns ``text_1``, ``text_2`` and, where it has them, ``Type`` (the topic), ``URL_1`` and
``URL_2``; a pair is named by the number of its row, from 0. NEWS-HE, as the authors of ABCD-Link released it, is 20
of these pairs: ``sentence_boundaries.json`` beside the table says from where to where each sentence goes, and in eight
pairs the second text is the source. Where that file is, these pairs are read by it; ``--as-released`` reads no others.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from abcdlink.corpus.builder import CorpusBuilder
from abcdlink.corpus.formats.files import ImportSource, read_json_object
from abcdlink.corpus.formats.rows import csv_rows
from abcdlink.corpus.records import Corpus, Document, Pair, Sentence
from abcdlink.errors import InputError

BOUNDARIES = "sentence_boundaries.json"
REVERSED = frozenset({"118", "132", "180", "243", "246", "294", "333", "360"})
"""Pairs of NEWS-HE whose source is the second text."""
TEXTS = ("text_1", "text_2")
URLS = ("url_1", "url_2")
TOPIC = "type"
SIDES = ("doc1", "doc2")


def read_spiced(given: ImportSource) -> Corpus:
    """Read the table, with the released sentence boundaries where these are beside it.

    The documents of a pair are named ``<pair>_doc1`` (source) and ``<pair>_doc2`` (target), as in NEWS-HE.

    Raises:
        InputError: when there is no such table, or the variant as released is wanted and the boundaries are not there.
    """
    table = _table(given)
    path = table.parent / BOUNDARIES
    boundaries = read_json_object(given.file(path)) if path.is_file() else {}
    if given.choices.as_released and not boundaries:
        msg = f"{path} does not exist"
        raise InputError(msg, "copy it from the authors' repository (datasets/news_he) next to the table")
    builder = CorpusBuilder(given.name)
    left = dict(boundaries)
    for where, name, row in csv_rows(given.file(table)):
        spans = left.pop(name, None)
        if spans is None and given.choices.as_released:
            continue
        with builder.refusing(where):
            _add(builder, given, where, name, {column.casefold(): cell for column, cell in row.items()}, spans)
    for name in left:
        builder.refuse(f"{path}, pair {name!r}", "the table has no such row", "use the released versions of both")
    return builder.build()


def _table(given: ImportSource) -> Path:
    files = [given.path] if given.path.is_file() else sorted(given.path.glob("*.csv"))
    for path in files:
        first = next(csv_rows(path), None)
        if first is not None and set(TEXTS) <= {column.casefold() for column in first[2]}:
            return path
    msg = f"{given.path} contains no .csv file with the columns {' and '.join(TEXTS)}"
    raise InputError(msg, "give the table of SPICED, or its folder")


def _add(
    builder: CorpusBuilder,
    given: ImportSource,
    where: str,
    name: str,
    row: dict[str, str],
    spans: Any,  # noqa: ANN401
) -> None:
    topic = {"topic": row[TOPIC].strip()} if row.get(TOPIC, "").strip() else {}
    if not given.wants(topic):
        return
    order = (1, 0) if spans is not None and name in REVERSED else (0, 1)
    documents = []
    for side, index in zip(SIDES, order, strict=True):
        # The boundaries count characters of the file as Python's text mode reads it.
        text = row.get(TEXTS[index], "").replace("\r\n", "\n").replace("\r", "\n")
        url = row.get(URLS[index], "").strip()
        meta = topic | ({"url": url} if url else {})
        document = f"{name}_{side}"
        if spans is None:
            documents.append(given.texts.document(document, text, meta=meta))
        else:
            documents.append(Document(id=document, sentences=_sentences(name, side, spans, text), meta=meta))
    source, target = documents
    builder.add_whole_pair(where, source, target, Pair(id=name, source=source.id, target=target.id))


def _sentences(name: str, side: str, spans: Any, text: str) -> tuple[Sentence, ...]:  # noqa: ANN401 - any JSON value
    of_side = spans.get(side) if isinstance(spans, dict) else None
    if not isinstance(of_side, dict) or not all(map(_is_span, of_side.values())):
        msg = f"pair {name!r} has no object {side!r} of sentence ids and [start, end]"
        raise InputError(msg, "use the file from the authors' repository")
    last = max((end for _, end in of_side.values()), default=0)
    if last > len(text):
        msg = f"pair {name!r}: the sentences of {side} go up to character {last}, and the text has {len(text)}"
        raise InputError(msg, "use the released table: this one is a different version")
    return tuple(Sentence(id=key, text=text[start:end]) for key, (start, end) in of_side.items())


def _is_span(value: Any) -> bool:  # noqa: ANN401 - any JSON value
    return isinstance(value, list) and len(value) == len(SIDES) and all(isinstance(one, int) for one in value)
