"""Documents, sentences, pairs and links: the records that everything else passes around."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidatorFunctionWrapHandler, WrapValidator, model_validator

from abcdlink.errors import InputError

NOTED, SHOWN = 50, 3
"""Items that a note names in full, and in one line; of more, only the number is given."""


class Record(BaseModel):
    """An immutable record; unknown fields are refused, so that a typing error is seen."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def with_new_names(data: Any, **names: str) -> Any:  # noqa: ANN401 - whatever is to be validated
    """Return what a record is read from, fields that had another name in earlier versions (old=new) renamed."""
    return {names.get(name, name): value for name, value in data.items()} if isinstance(data, dict) else data


class Sentence(Record):
    """One sentence; ``id`` is unique within its document, ``text`` is kept as it came."""

    id: str
    text: str


class Document(Record):
    """An ordered list of sentences with stable string ids.

    Raises:
        InputError: when two sentences share an id or the document has none.
    """

    id: str
    sentences: tuple[Sentence, ...]
    meta: dict[str, str] = Field(
        default_factory=dict, exclude_if=lambda meta: not meta, description="what is known about it, e.g. topic, date"
    )

    @model_validator(mode="after")
    def _ids_are_unique(self) -> Document:
        if not self.sentences:
            msg = f"document {self.id!r} has no sentences"
            raise InputError(msg, "remove it or give it text")
        if len(self.position) != len(self.sentences):
            seen: set[str] = set()
            twice = next(s.id for s in self.sentences if s.id in seen or seen.add(s.id))  # type: ignore[func-returns-value]
            msg = f"document {self.id!r} has two sentences with the id {twice!r}"
            raise InputError(msg, "give every sentence of a document its own id")
        return self

    @cached_property
    def position(self) -> dict[str, int]:
        """Sentence id -> 0-based position in the document."""
        return {sentence.id: index for index, sentence in enumerate(self.sentences)}

    @property
    def size(self) -> tuple[int, int]:
        """Number of sentences, then of characters: what "shortest" means."""
        return len(self.sentences), sum(len(sentence.text) for sentence in self.sentences)

    @property
    def texts(self) -> list[str]:
        """The texts of the sentences in document order."""
        return [sentence.text for sentence in self.sentences]

    def text_of(self, sentence_id: str) -> str:
        """Return the text of one sentence; ``KeyError`` when there is no such sentence."""
        return self.sentences[self.position[sentence_id]].text


class PairKind(StrEnum):
    """Whether the source document was written by people or by an LLM."""

    NATURAL = "natural"
    SYNTHETIC = "synthetic"


class Pair(Record):
    """A source document and a target document, with gold links where they are known.

    ``links`` maps a source sentence id to the ids of the target sentences it links to;
    ``None`` means that nobody has annotated the pair, ``{}`` that it has no links.
    """

    id: str
    source: str = Field(description="id of the source document")
    target: str = Field(description="id of the target document")
    kind: PairKind = PairKind.NATURAL
    links: dict[str, tuple[str, ...]] | None = None

    @property
    def sources_with_links(self) -> dict[str, tuple[str, ...]]:
        """The source sentences that have at least one gold link, with their targets."""
        return {source: targets for source, targets in (self.links or {}).items() if targets}


def pair_name(source: str, target: str) -> str:
    """Return the id of a pair to which nobody gave one."""
    return f"{source}__{target}"


class Refusal(Record):
    """An item that was left out: where it was found, why, and what to do about it."""

    where: str
    reason: str
    hint: str = ""

    @property
    def why(self) -> str:
        """The reason, with the place named once."""
        return self.reason if self.where in self.reason else f"{self.where}: {self.reason}"

    @property
    def line(self) -> str:
        """The refusal in one line, with what to do."""
        return f"{self.why}; {self.hint}" if self.hint else self.why

    @model_validator(mode="before")
    @classmethod
    def _read_earlier_name(cls, data: Any) -> Any:  # noqa: ANN401 - whatever is to be validated
        return with_new_names(data, mend="hint")


class RemovedLine(Record):
    """A line of a plain text, or its beginning, that became no part of the document; ``line`` is its number, from 1."""

    document: str
    line: int
    text: str
    why: str


class Note(Record):
    """Something that was done with several items of an import and is not a refusal, e.g. files that were not read."""

    what: str = Field(description="what the items are and what was done with them")
    count: int
    examples: tuple[str, ...] = Field(description="names of the first items")

    @classmethod
    def of(cls, what: str, items: Sequence[str]) -> Note:
        """Count the items and name the first ones."""
        return cls(what=what, count=len(items), examples=tuple(items[:NOTED]))

    def __str__(self) -> str:
        shown = ", ".join(self.examples[:SHOWN])
        if not shown:
            return f"{self.what}: {self.count}"
        return f"{self.what}: {self.count} ({shown}{', ...' if self.count > SHOWN else ''})"


class Tally:
    """Counts the items of a note and keeps the names of the first ones."""

    def __init__(self) -> None:
        self.count = 0
        self._examples: list[str] = []

    def add(self, item: str) -> None:
        """Count one more."""
        self.count += 1
        if len(self._examples) < NOTED:
            self._examples.append(item)

    def note(self, what: str) -> Note:
        """Return the note."""
        return Note(what=what, count=self.count, examples=tuple(self._examples))


def _not_copied(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:  # noqa: ANN401 - whatever is validated
    """Leave documents that are not in memory where they are; anything else is validated into a dictionary."""
    return value if isinstance(value, Mapping) and not isinstance(value, dict) else handler(value)


class Corpus(BaseModel):
    """Documents and the pairs over them, with what was refused or removed while reading and what is worth a note."""

    name: str
    documents: Annotated[Mapping[str, Document], WrapValidator(_not_copied)]
    pairs: list[Pair]
    refused: list[Refusal] = Field(default_factory=list)
    notes: list[Note] = Field(default_factory=list)
    removed_lines: list[RemovedLine] = Field(default_factory=list)

    @property
    def source_count(self) -> int:
        """Number of sources with links over all pairs."""
        return sum(len(pair.sources_with_links) for pair in self.pairs)

    @property
    def linked_sentences(self) -> dict[str, set[str]]:
        """Document -> its sentences that gold links name."""
        linked: dict[str, set[str]] = {}
        for pair in self.pairs:
            for source, targets in pair.sources_with_links.items():
                linked.setdefault(pair.source, set()).add(source)
                linked.setdefault(pair.target, set()).update(targets)
        return linked

    @property
    def target_documents(self) -> list[str]:
        """Ids of the documents that can be targets, in file order: all but those that are only the source of a pair."""
        only_sources = {pair.source for pair in self.pairs} - {pair.target for pair in self.pairs}
        return [document for document in self.documents if document not in only_sources]

    @property
    def unpaired(self) -> list[str]:
        """Ids of the documents in no pair, in file order."""
        paired = {name for pair in self.pairs for name in (pair.source, pair.target)}
        return [document for document in self.documents if document not in paired]

    def source_of(self, pair: Pair) -> Document:
        """Return the source document of a pair."""
        return self.documents[pair.source]

    def target_of(self, pair: Pair) -> Document:
        """Return the target document of a pair."""
        return self.documents[pair.target]

    def first_pairs(self, count: int | None) -> Corpus:
        """Return the corpus cut to its first ``count`` pairs in file order (all when ``None``)."""
        return self if count is None else self.model_copy(update={"pairs": self.pairs[:count]})

    def used_documents(self) -> Iterator[Document]:
        """Yield each document that a pair uses, once, in order of first use."""
        seen: set[str] = set()
        for pair in self.pairs:
            for document_id in (pair.source, pair.target):
                if document_id not in seen:
                    seen.add(document_id)
                    yield self.documents[document_id]
