"""Takes captions, share lines and other leftovers of a web page out of documents, and never changes a sentence.

Rules of the domain come first. Where suspicious sentences are left, an LLM says which sentences go; documents without
any cost nothing. Here: what is asked for, what was taken out and by whom, and how to put it back.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pydantic import Field

from abcdlink.corpus.records import Corpus, Document, Record, Refusal, Sentence
from abcdlink.errors import InputError
from abcdlink.llm.records import Usage

BY_LLM = "LLM"


class AnswerForm(StrEnum):
    """How the LLM answers: with the numbers of the sentences to remove, or with the article that is left."""

    NUMBERS = "numbers"
    ARTICLE = "article"


class AskAbout(StrEnum):
    """Which documents the LLM is asked about, after the rules."""

    NONE = "none"
    SUSPICIOUS = "suspicious"
    ALL = "all"


class CleaningPlan(Record):
    """How documents are cleaned."""

    ask: AskAbout = Field(
        AskAbout.SUSPICIOUS,
        description="Which documents the LLM is asked about: none (rules only), those in which something suspicious "
        "is left, or all.",
    )
    form: AnswerForm = Field(
        AnswerForm.NUMBERS,
        description="numbers: it lists the sentences to remove; article: it returns the article (as in the paper), "
        "which is accepted only if no word was changed, added or moved.",
    )


class Removed(Record):
    """A sentence that a rule or the LLM took out; ``position``: its place in the document as it came, from 0."""

    document: str
    position: int
    sentence: Sentence
    by: str


class CleaningCounts(Record):
    """The result of a cleaning.

    ``refused``: reason -> documents about which the LLM's answer was not taken; what rules removed stays removed.
    ``linked``: sentences that were to go and stayed, because gold links name them.
    """

    documents: int
    sentences: int
    changed: int = Field(description="documents that lost a sentence")
    removed: dict[str, int] = Field(description="name of the rule, or LLM -> sentences removed")
    asked: int = Field(description="documents about which the LLM was asked")
    refused: dict[str, int]
    linked: int
    model: str = ""
    usage: Usage = Usage()
    unit: str = Field("sentences", description="what was removed: sentences of a corpus, or lines of text files")
    unread: int = Field(0, description="files without text that can be read: they are copied as they are")

    def __str__(self) -> str:
        by = ", ".join(f"{count} by {name}" for name, count in self.removed.items())
        model = f", {self.asked} of them shown to {self.model}" if self.asked else ""
        unread = f"; files without text that can be read, copied as they are: {self.unread}" if self.unread else ""
        return (
            f"{sum(self.removed.values())} of {self.sentences} {self.unit} removed from {self.changed} of "
            f"{self.documents} documents{model}{f' ({by})' if by else ''}{unread}"
        )


@dataclass
class Cleaned:
    """A cleaned corpus, what was removed from it, and the counts; answers that were not taken are in ``refused``."""

    corpus: Corpus
    removed: list[Removed]
    counts: CleaningCounts
    refused: list[Refusal]


def to_restore(removed: Sequence[Removed], documents: Collection[str] = ()) -> tuple[list[Removed], list[Removed]]:
    """Return what goes back into some documents (none: into all), and what is still removed.

    Raises:
        InputError: when nothing was taken out of one of the documents.
    """
    for name in documents:
        if not any(one.document == name for one in removed):
            msg = f"nothing was removed from the document {name!r}"
            raise InputError(msg, "take an id from removed.html, or name none to restore all")
    back = [one for one in removed if not documents or one.document in documents]
    return back, [one for one in removed if one not in back]


def restore(corpus: Corpus, removed: Sequence[Removed]) -> Corpus:
    """Put sentences back where they were in a cleaned corpus."""
    back: dict[str, list[Removed]] = {}
    for one in removed:
        back.setdefault(one.document, []).append(one)
    restored = {name: _restored(corpus.documents[name], found) for name, found in back.items()}
    whole = {name: restored.get(name) or corpus.documents[name] for name in corpus.documents}
    return corpus.model_copy(update={"documents": whole})


def _restored(document: Document, removed: Sequence[Removed]) -> Document:
    sentences = list(document.sentences)
    for one in sorted(removed, key=lambda one: one.position):
        sentences.insert(one.position, one.sentence)
    return Document(id=document.id, sentences=tuple(sentences), meta=document.meta)
