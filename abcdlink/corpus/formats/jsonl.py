"""Reads JSON Lines: a folder with ``documents.jsonl`` and ``pairs.jsonl``, or one file of whole pairs or documents.

Documents are whole texts, which are cut into sentences, or lists of sentences. Our own corpus layout is a
special case of the folder. Lines that do not fit are refused one by one. Data drops hold whole pairs too. Lines of
any other shape are rows of a table (``rows.py``) when it is said which fields are texts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Self

from pydantic import ConfigDict, Field, ValidationError, model_validator

from abcdlink.corpus.builder import CorpusBuilder
from abcdlink.corpus.formats.files import ImportSource, read_json_lines, read_lines
from abcdlink.corpus.formats.rows import read_json_rows
from abcdlink.corpus.plain_text import PlainText
from abcdlink.corpus.records import Corpus, Document, Pair, PairKind, Record, pair_name
from abcdlink.errors import InputError

Id = Annotated[str, Field(min_length=1)]


class JsonLine(Record):
    """Base of the lines: ids may be numbers, which are read as strings."""

    model_config = ConfigDict(coerce_numbers_to_str=True)


class SentenceLine(JsonLine):
    """A sentence with its id."""

    id: Id
    text: str


class DocumentLine(JsonLine):
    """A document as whole ``text`` or as ``sentences`` (texts, or objects with ``id`` and ``text``)."""

    id: Id
    text: str | None = None
    sentences: tuple[str | SentenceLine, ...] | None = None
    meta: dict[str, str] = Field(default_factory=dict, exclude_if=lambda meta: not meta)

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.text is None) == (self.sentences is None):
            msg = f"document {self.id!r} needs either 'text' or 'sentences'"
            raise InputError(msg, "give one of the two")
        return self

    def document(self, texts: PlainText, *, is_linked: bool) -> Document:
        """Return the document, cut into sentences where it came as text; bare sentences get the ids 0, 1, 2 ..."""
        if self.sentences is None:
            return texts.document(self.id, self.text or "", is_linked=is_linked, meta=self.meta)
        sentences = [
            {"id": str(index), "text": line} if isinstance(line, str) else {"id": line.id, "text": line.text}
            for index, line in enumerate(self.sentences)
        ]
        # All sentences in one call, which is much faster than one call for each.
        return Document.model_validate({"id": self.id, "sentences": sentences, "meta": self.meta})


class PairLine(JsonLine):
    """A pair of documents that are elsewhere; without an ``id`` it is named ``<source>__<target>``."""

    id: Id | None = None
    source: Id
    target: Id
    kind: PairKind = PairKind.NATURAL
    links: dict[str, tuple[str, ...]] | None = None

    def pair(self) -> Pair:
        """Return the pair."""
        name = self.id or pair_name(self.source, self.target)
        return Pair(id=name, source=self.source, target=self.target, kind=self.kind, links=self.links)


class DropLine(JsonLine):
    """A pair with both of its documents; ``pair`` is its id."""

    pair: Id
    source: DocumentLine
    target: DocumentLine
    kind: PairKind = PairKind.NATURAL
    links: dict[str, tuple[str, ...]] | None = None

    def records(self, texts: PlainText) -> tuple[Document, Document, Pair]:
        """Return source document, target document and pair."""
        # A record with four fields that were given takes half the memory of one with five, and there may be millions.
        given = {name: getattr(self, name) for name in ("kind", "links") if name in self.model_fields_set}
        pair = Pair.model_validate({"id": self.pair, "source": self.source.id, "target": self.target.id, **given})
        source, target = (each.document(texts, is_linked=bool(self.links)) for each in (self.source, self.target))
        return source, target, pair


def read_jsonl(given: ImportSource) -> Corpus:
    """Read a folder (``pairs.jsonl`` may be missing) or one ``.jsonl`` file whose lines are whole pairs or documents.

    Raises:
        InputError: when the folder has no ``documents.jsonl``, or a file is not UTF-8.
    """
    if given.choices.columns:
        return read_json_rows(given)
    builder = CorpusBuilder(given.name)
    if given.path.is_file():
        _read_whole_pairs(builder, given)
    else:
        _read_folder(builder, given)
    return builder.build()


def whole_pairs(corpus: Corpus) -> Iterator[bytes]:
    """Yield each pair of a corpus, with both documents, as a line that this module and data drops read."""
    for pair in corpus.pairs:
        source, target = (
            {"id": one.id, "sentences": [s.model_dump() for s in one.sentences], "meta": one.meta}
            for one in (corpus.source_of(pair), corpus.target_of(pair))
        )
        line = {"pair": pair.id, "source": source, "target": target, "kind": pair.kind, "links": pair.links}
        yield json.dumps(line, ensure_ascii=False).encode() + b"\n"


def _read_whole_pairs(builder: CorpusBuilder, given: ImportSource) -> None:
    for where, line in read_json_lines(given.file(given.path)):
        with builder.refusing(where):
            found = _pair_or_document(line)
            if isinstance(found, DropLine):
                builder.add_whole_pair(where, *found.records(given.texts))
            else:
                builder.add_document(where, found.document(given.texts, is_linked=False))


def _pair_or_document(line: str) -> DropLine | DocumentLine:
    """Read a line as a whole pair; as a document where it has nothing of a pair."""
    try:
        return DropLine.model_validate_json(line)
    except ValidationError as error:
        missing = {problem["loc"][0] for problem in error.errors() if problem["type"] == "missing"}
        if not missing >= {"pair", "source", "target"}:
            raise
    return DocumentLine.model_validate_json(line)


def _read_folder(builder: CorpusBuilder, given: ImportSource) -> None:
    documents, pairs = given.path / "documents.jsonl", given.path / "pairs.jsonl"
    if not documents.is_file():
        msg = f"{documents} does not exist"
        raise InputError(msg, "give a folder with documents.jsonl and pairs.jsonl, or one .jsonl file of whole pairs")
    linked: set[str] = set()
    if pairs.is_file():
        for where, line in read_lines(given.file(pairs)):
            with builder.refusing(where):
                pair = PairLine.model_validate_json(line).pair()
                builder.add_pair(where, pair)
                linked |= {pair.source, pair.target} if pair.links else set()
    for where, line in read_lines(given.file(documents)):
        with builder.refusing(where):
            document = DocumentLine.model_validate_json(line)
            builder.add_document(where, document.document(given.texts, is_linked=document.id in linked))
