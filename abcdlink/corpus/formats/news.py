"""Reads pairs of news articles: SPICED with NEWS-HE, and WikinewsSum.

SPICED (Shushkevich et al., 2023) is one CSV file with the columns ``text_1``, ``text_2`` and, where it has them,
``Type`` (the topic), ``URL_1`` and ``URL_2``; a pair is named by the number of its row, from 0. NEWS-HE, as the authors
of ABCD-Link released it, is 20 of these pairs: ``sentence_boundaries.json`` beside the table says where each sentence
begins and ends, and in eight pairs the second text is the source. Where that file is, these pairs are read by it;
``--as-released`` reads no others.

WikinewsSum (Calizzano et al., 2022) is articles of Wikinews and the web pages that they are based on: JSON Lines, in
``train.json``, ``validation.json`` and ``test.json`` or one file, each line with ``language``, ``title``, ``news`` (the
article, a passage a line, or a list of passages) and ``sources`` (``language``, ``text``, ``url``). An article is a
target document, named by its title (``<title>@2`` where another one has it); each page in its language is a source.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field

from abcdlink.corpus.builder import CorpusBuilder
from abcdlink.corpus.formats.files import ImportSource, read_json_object, read_lines
from abcdlink.corpus.formats.rows import csv_rows
from abcdlink.corpus.records import Corpus, Document, Note, Pair, Record, Sentence
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
            _add_pair(builder, given, where, name, {column.casefold(): cell for column, cell in row.items()}, spans)
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


def _add_pair(
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


class _Loose(Record):
    model_config = ConfigDict(extra="ignore")


class _Page(_Loose):
    language: str = ""
    text: str | None = None
    url: str | None = None


class _Article(_Loose):
    title: str = Field(min_length=1)
    news: str | list[str]
    language: str = ""
    sources: tuple[_Page, ...] = ()


def read_wikinewssum(given: ImportSource) -> Corpus:
    """Read a folder with ``.json`` files, or one of them; pages without text or in another language are left out.

    Raises:
        InputError: when there is no such file, or one is not UTF-8.
    """
    files = [given.path] if given.path.is_file() else sorted(given.path.glob("*.json"))
    if not files:
        msg = f"{given.path} contains no .json file"
        raise InputError(msg, "give the folder with train.json, validation.json and test.json")
    builder = CorpusBuilder(given.name)
    foreign: list[str] = []
    titles: Counter[str] = Counter()
    for path in files:
        for where, line in read_lines(given.file(path)):
            with builder.refusing(where):
                article = _Article.model_validate_json(line)
                titles[article.title] += 1
                name = article.title if titles[article.title] == 1 else f"{article.title}@{titles[article.title]}"
                _add_article(builder, given, where, article.model_copy(update={"title": name}), foreign)
    if foreign:
        builder.note(Note.of("Source pages in another language than their article, which were left out", foreign))
    return builder.build()


def _add_article(
    builder: CorpusBuilder, given: ImportSource, where: str, article: _Article, foreign: list[str]
) -> None:
    about = {"language": article.language, "title": article.title}
    meta = {name: value for name, value in about.items() if value}
    if not given.wants(meta):
        return
    news = article.news if isinstance(article.news, str) else "\n".join(article.news)
    target = given.texts.document(article.title, news, meta=meta)
    usable = [page for page in article.sources if page.text and page.text.strip()]
    same = [page for page in usable if page.language == article.language]
    foreign += [page.url or article.title for page in usable if page.language != article.language]
    if given.choices.targets or not same:
        builder.add_lone_document(where, target)
        return
    for number, page in enumerate(same, start=1):
        name = article.title if len(same) == 1 else f"{article.title} ({number})"
        with builder.refusing(f"{where}, source {number}"):
            source = given.texts.document(
                f"{name}_source", page.text or "", meta=meta | ({"url": page.url} if page.url else {})
            )
            builder.add_whole_pair(where, source, target, Pair(id=name, source=source.id, target=target.id))
