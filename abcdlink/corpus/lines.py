"""What people write on one line of JSON: a document as text or sentences, a pair with both of its documents."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator

from abcdlink.corpus.records import Document, Pair, PairKind, Record, Sentence
from abcdlink.errors import InputError
from abcdlink.segmentation import Segmenter

Id = Annotated[str, Field(min_length=1)]


class Line(Record):
    """Base of the lines: ids may be numbers, which are read as strings."""

    model_config = ConfigDict(coerce_numbers_to_str=True)


class SentenceLine(Line):
    """A sentence with its id."""

    id: Id
    text: str


class DocumentLine(Line):
    """A document as whole ``text`` or as ``sentences`` (texts, or objects with ``id`` and ``text``)."""

    id: Id
    text: str | None = None
    sentences: tuple[str | SentenceLine, ...] | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.text is None) == (self.sentences is None):
            msg = f"document {self.id!r} needs either 'text' or 'sentences'"
            raise InputError(msg, "give one of the two")
        return self

    def document(self, segmenter: Segmenter) -> Document:
        """Return the document, cut into sentences where it came as text; bare sentences get the ids 0, 1, 2 ..."""
        if self.sentences is None:
            return segmenter.document(self.id, self.text or "")
        sentences = (
            Sentence(id=str(index), text=line) if isinstance(line, str) else Sentence(id=line.id, text=line.text)
            for index, line in enumerate(self.sentences)
        )
        return Document(id=self.id, sentences=tuple(sentences))


class PairLine(Line):
    """A pair over documents that stand elsewhere; without an ``id`` it is named ``<source>__<target>``."""

    id: Id | None = None
    source: Id
    target: Id
    kind: PairKind = PairKind.NATURAL
    links: dict[str, tuple[str, ...]] | None = None

    def pair(self) -> Pair:
        """Return the pair."""
        name = self.id or pair_name(self.source, self.target)
        return Pair(id=name, source=self.source, target=self.target, kind=self.kind, links=self.links)


class DropLine(Line):
    """A pair with both of its documents; ``pair`` is its id."""

    pair: Id
    source: DocumentLine
    target: DocumentLine
    kind: PairKind = PairKind.NATURAL
    links: dict[str, tuple[str, ...]] | None = None

    def records(self, segmenter: Segmenter) -> tuple[Document, Document, Pair]:
        """Return source document, target document and pair."""
        pair = Pair(id=self.pair, source=self.source.id, target=self.target.id, kind=self.kind, links=self.links)
        return self.source.document(segmenter), self.target.document(segmenter), pair


def pair_name(source: str, target: str) -> str:
    """Name a pair that nobody named."""
    return f"{source}__{target}"
