"""Questions to a model and what came of them. An outcome is an enumeration, never a bare empty result."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from abcdlink.corpus.records import Record


class Outcome(StrEnum):
    """What came of one question."""

    OK = "ok"
    """Valid JSON by the schema."""
    REPAIRED = "repaired"
    """Accepted after a harmless repair (code fence, thinking text, trailing comma, Python literals)."""
    TRUNCATED = "truncated"
    """The answer was cut off, also with a larger limit; never repaired."""
    MISSING_IDS = "missing_ids"
    """Some offered ids were not answered, also when asked again; these are unknown, never False."""
    INVALID = "invalid"
    """The answer does not fit the schema."""
    REFUSED = "refused"
    """The model or its filter declined."""
    TOO_LONG = "too_long"
    """The question does not fit the model's context, also when shortened."""
    FAILED = "failed"
    """No answer came, after all retries."""

    @property
    def answered(self) -> bool:
        """Whether the answer can be used."""
        return self in (Outcome.OK, Outcome.REPAIRED)

    @property
    def words(self) -> str:
        """What it is called in tables for people."""
        return OUTCOME_WORDS[self]


OUTCOME_WORDS = {
    Outcome.OK: "answered",
    Outcome.REPAIRED: "answered after a repair",
    Outcome.TRUNCATED: "cut off",
    Outcome.MISSING_IDS: "with ids missing",
    Outcome.INVALID: "not in the form asked for",
    Outcome.REFUSED: "refused",
    Outcome.TOO_LONG: "too long for the model",
    Outcome.FAILED: "without an answer",
}


class Form(StrEnum):
    """How the form of an answer is asked for, the strictest way first."""

    JSON_SCHEMA = "json_schema"
    """The server holds the model to the schema."""
    JSON_OBJECT = "json_object"
    """The server holds the model to JSON; the prompt says the schema."""
    TEXT = "text"
    """Only the prompt says what is wanted."""


class Message(Record):
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


class Question(Record):
    """One chat completion with a JSON schema for its answer.

    ``stage`` names what it is asked for (an approach, ``generate``); the accounting is kept by it.
    ``seed`` replaces the seed of the settings: another seed is another question, so that a
    rejected answer can be asked for again, or several samples of an answer be had.
    ``probabilities``: ask for P(true) of every key too (for a schema of booleans).
    """

    messages: tuple[Message, ...]
    json_schema: dict[str, Any]
    stage: str
    max_tokens: int | None = None
    seed: int | None = None
    probabilities: bool = False


class Usage(Record):
    """Tokens and seconds of one or many calls; ``cost`` in the price table's currency.

    ``thinking_tokens``: of the completion tokens, those before the answer: as the server counts them, or estimated by
    the share of letters where it only shows the text.
    """

    calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    thinking_tokens: int = 0
    seconds: float = 0.0
    cost: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in Usage.model_fields})

    @property
    def cached_share(self) -> float:
        """The share of the prompt tokens that the server had in its prefix cache; 0 without prompt tokens."""
        return self.cached_tokens / self.prompt_tokens if self.prompt_tokens else 0.0


class Answer(Record):
    """What came of a question.

    ``value``: the parsed object when the outcome is an answer, else ``None``; for missing ids, and
    where ids that were not offered had to be dropped, the offered ids that were answered.
    ``probabilities``: P(true) of each key whose log-probabilities tell it (see ``llm.reply``);
    ``None`` when they were not asked for or the server gives none.
    ``raw``: the model's text as it came. ``detail``: why the outcome is what it is, for a person.
    ``form``: how its form was asked for. ``server_fault``: whether any other question would have failed the same way.
    ``from_cache``: whether it was paid for earlier; then ``usage`` is what it had cost then.
    """

    outcome: Outcome
    value: dict[str, Any] | None = None
    probabilities: dict[str, float] | None = None
    raw: str = ""
    detail: str = ""
    usage: Usage = Usage()
    form: Form = Form.JSON_SCHEMA
    server_fault: bool = False
    from_cache: bool = False
