"""The settings of a domain: the content of ``domain.toml`` and of the files of examples."""

from __future__ import annotations

import re
import warnings
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from abcdlink.corpus.records import Document, Record
from abcdlink.languages import word_count

PATTERN_NAME = re.compile(r"\(\?#([^)]*)\)")
"""What a pattern is called: its comment at the start."""


class Setting(StrEnum):
    """Which variant of a domain's texts and settings is used."""

    DEFAULT = "default"
    PAPER = "paper"
    """As in the paper: what is in the folder ``paper`` of a domain, and of the prompts that all domains share, wins."""


def name_of_pattern(pattern: str) -> str:
    """Return the name that a regular expression has in a comment (?#...) at its start, else the expression itself."""
    name = PATTERN_NAME.match(pattern)
    return name[1] if name else f"matches the excluded pattern {pattern}"


def _compiling(expressions: tuple[str, ...]) -> tuple[str, ...]:
    """Return regular expressions as they are; ``ValueError`` names one that cannot be compiled."""
    for expression in expressions:
        try:
            with warnings.catch_warnings():
                # "[[(]" means what it says, whatever later versions of Python make of it.
                warnings.simplefilter("ignore", FutureWarning)
                re.compile(expression)
        except re.error as error:
            msg = f"{expression!r} is not a valid regular expression: {error}"
            raise ValueError(msg) from None
    return expressions


Expressions = Annotated[tuple[str, ...], AfterValidator(_compiling)]
"""Regular expressions that can be compiled."""


def _not_blank(text: str) -> str:
    if not text.strip():
        kind = "string_too_short"
        raise PydanticCustomError(kind, "must not be empty")
    return text


Text = Annotated[str, AfterValidator(_not_blank)]
"""A text that people or models read: more than white space."""


class PoolSizes(Record):
    """How many candidates of each kind one source sentence is shown with where two approaches are compared."""

    first: int = Field(3, ge=0, description="candidates of the first shortlisted approach")
    second: int = Field(3, ge=0, description="candidates of the second shortlisted approach")
    random: int = Field(2, ge=0, description="random distractors from the rest of the target document")


class SentenceFilter(Record):
    """Which sentences of a document cannot be candidates; by default all can."""

    min_words: int = Field(1, ge=1, description="shortest sentence that is kept, in words")
    exclude: Expressions = Field(
        (), description="regular expressions; a match leaves a sentence out. A comment (?#...) at the start names one"
    )

    @property
    def keeps_all(self) -> bool:
        """Whether no sentence can be left out."""
        return self.min_words == 1 and not self.exclude

    def reason_to_leave_out(self, text: str) -> str:
        """Return why a sentence is left out; empty when it is kept."""
        # Text without a word (a row of dashes) is left out only where somebody has asked for a filter.
        if not self.keeps_all and word_count(text) < self.min_words:
            return f"fewer than {self.min_words} words"
        pattern = next((pattern for pattern in self.exclude if re.search(pattern, text)), None)
        return "" if pattern is None else name_of_pattern(pattern)

    def left_out_of(self, document: Document) -> dict[str, str]:
        """Return sentence id -> why it is left out; of a document that has no other sentences, none is."""
        reasons = {one.id: reason for one in document.sentences if (reason := self.reason_to_leave_out(one.text))}
        return reasons if len(reasons) < len(document.sentences) else {}


class SourceFilter(SentenceFilter):
    """Which source sentences are not shown to annotators.

    ``unproposed``: shows what annotators find where every approach is silent; of the paper's annotated
    source sentences these are 30 %.
    """

    min_words: int = Field(4, ge=1, description="shortest source sentence that is kept, in words")
    unproposed: bool = Field(
        default=False, description="whether sources for which nothing is proposed are shown too, with distractors only"
    )


class TopicExample(Record):
    """A topic and a sentence on it, as the model is to write them."""

    topic: Text
    sentence: Text


class Shape(Record):
    """What source documents and their links are like on average, in a synthetic corpus that is to be written."""

    sentences: tuple[int, int] = Field((8, 12), description="fewest and most sentences of a source document")
    linked: float = Field(0.4, gt=0, le=1, description="share of the source sentences that have links")
    targets: float = Field(1.3, ge=1, description="target sentences of a linked source, on average")
    sources: float = Field(1.1, ge=1, description="source sentences of a linked target, on average")

    @model_validator(mode="after")
    def _is_a_range(self) -> Shape:
        low, high = self.sentences
        if not 2 <= low <= high:  # noqa: PLR2004
            msg = "sentences: two numbers, the smaller one first and at least 2"
            raise ValueError(msg)
        return self


class GenerationSettings(Record):
    """Shape and style of generated source documents."""

    shape: Shape = Shape()
    max_words: int = Field(40, ge=5, description="longest generated sentence, in words")
    variations: tuple[str, ...] = Field(
        (), description="ways of writing a whole document; the model is told one of them, at random"
    )
    linked_task: str = Field(
        "Write one sentence of another document that is linked to this sentence, in other words.",
        description="what the model is told to write for a target sentence",
    )
    unlinked_topics: tuple[str, ...] = Field(
        ("something that the other document does not mention",),
        min_length=1,
        description="what sentences without links are about, one topic for each",
    )
    unlinked_examples: tuple[TopicExample, ...] = Field((), description="shown to the model, on other topics")


class ExampleSentence(Record):
    """A sentence of the worked example: its text, and the positions of the target sentences that it is linked to."""

    text: Text
    targets: tuple[int, ...] | None


class GenerationExample(Record):
    """The worked example of the document strategy: a target document, and a source document with its links."""

    target: tuple[Text, ...] = Field(min_length=1)
    source: tuple[ExampleSentence, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _links_exist(self) -> GenerationExample:
        wrong = [number for one in self.source for number in one.targets or () if not 0 <= number < len(self.target)]
        if wrong:
            msg = f"a link names target sentence {wrong[0]}, but the target has {len(self.target)} (counted from 0)"
            raise ValueError(msg)
        return self


class CleaningSettings(Record):
    """What is taken out of documents, and when an LLM is asked."""

    lines: Expressions = Field(
        (), description="regular expressions; a matching line of plain text goes before sentences are cut"
    )
    rules: Expressions = Field(
        (), description="regular expressions; a matching sentence goes. A comment (?#...) at the start names one"
    )
    suspicious: Expressions = Field(
        (), description="regular expressions; the LLM is asked about a document that has a matching sentence"
    )
    most_removed: float = Field(
        0.5, gt=0, le=1, description="share of its sentences that the LLM may take from a document"
    )

    @property
    def line_patterns(self) -> list[tuple[re.Pattern[str], str]]:
        """``lines``, each with its name."""
        return [(re.compile(line), name_of_pattern(line)) for line in self.lines]


class ValidationThresholds(Record):
    """A synthetic corpus is flagged when it differs more than this from natural documents."""

    max_overlap: float = Field(0.8, ge=0, le=1, description="share of a target sentence's words in its linked source")
    length_ratio: tuple[float, float] = Field(
        (0.4, 2.5), description="allowed synthetic / natural mean sentence length in words"
    )
    max_duplicates: float = Field(0.05, ge=0, le=1, description="share of source sentences that occurred before")
    subjectivity_model: str = Field(
        "cffl/bert-base-styleclassification-subjective-neutral",
        description="text classifier of subjective sentences: a folder or a name on the hub; empty: none",
    )
    subjectivity_label: str = Field("", description="its label for subjective; empty: the one that begins with subj")


class DomainSettings(Record):
    """The content of ``domain.toml``."""

    title: Text
    source_name: Text = Field(description="what a source document is, e.g. review")
    target_name: Text = Field(description="what a target document is, e.g. paper")
    question: Text = Field(description="what an annotator decides for each candidate")
    language: str = Field("en", description="ISO code; for corpora that do not say theirs")
    setting: Setting = Field(Setting.DEFAULT, description="default, or paper: prompts and numbers as in the paper")
    llm_candidates: int = Field(7, ge=1, description="top-k of the retriever that the LLM decides on")
    ranked: bool = Field(
        default=False, description="whether the LLM sees the candidates best first; otherwise in document order"
    )
    pool: PoolSizes = PoolSizes()
    sources: SourceFilter = SourceFilter()
    targets: SentenceFilter = SentenceFilter()
    generation: GenerationSettings = GenerationSettings()
    validation: ValidationThresholds = ValidationThresholds()
    cleaning: CleaningSettings = CleaningSettings()
    overlap: int = Field(2, ge=1, description="annotators per task")


class LinkExample(Record):
    """One in-context example: a source sentence, a target sentence, whether they link, and why."""

    source: Text
    target: Text
    link: bool
    why: str = ""
