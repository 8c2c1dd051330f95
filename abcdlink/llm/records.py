"""Questions to a model and their answers. An outcome is an enumeration, never just an empty result."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from abcdlink.corpus.records import Record


class Outcome(StrEnum):
    """The outcome of one question."""

    OK = "ok"
    """Valid JSON that fits the schema."""
    REPAIRED = "repaired"
    """Accepted after a harmless repair (code fence, thinking text, trailing comma, Python literals)."""
    TRUNCATED = "truncated"
    """The answer was cut off, even with a larger limit; never repaired."""
    MISSING_IDS = "missing_ids"
    """Some offered ids were not answered, even when asked again; these are unknown, never False."""
    INVALID = "invalid"
    """The answer does not fit the schema."""
    REFUSED = "refused"
    """The model or its filter declined."""
    TOO_LONG = "too_long"
    """The question does not fit the model's context, even when shortened."""
    FAILED = "failed"
    """No answer came, after all retries."""

    @property
    def answered(self) -> bool:
        """Whether the answer can be used."""
        return self in (Outcome.OK, Outcome.REPAIRED)

    @property
    def words(self) -> str:
        """Its name in tables for people."""
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
    """How the form of an answer is enforced, strictest first."""

    JSON_SCHEMA = "json_schema"
    """The server forces the model to follow the schema."""
    JSON_OBJECT = "json_object"
    """The server forces the model to write JSON; the prompt states the schema."""
    TEXT = "text"
    """Only the prompt states the form."""


class Message(Record):
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


class Question(Record):
    """One chat completion with a JSON schema for its answer.

    ``stage`` names its purpose (an approach, ``generate``), by which usage is added up.
    ``seed`` replaces the seed in the settings: another seed is another question, so that a
    rejected answer can be asked for again, or several samples be drawn.
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
        """Share of the prompt tokens that were in the server's prefix cache; 0 without prompt tokens."""
        return self.cached_tokens / self.prompt_tokens if self.prompt_tokens else 0.0


class Answer(Record):
    """The answer to a question.

    ``value``: the parsed object if the outcome is an answer, else ``None``; with missing ids, or
    if ids that were not offered had to be dropped, the offered ids that were answered.
    ``probabilities``: P(true) of each key whose log-probabilities tell it (see ``llm.reply``);
    ``None`` when they were not asked for or the server gives none.
    ``raw``: the model's original text. ``detail``: the reason for the outcome, for people.
    ``form``: how its form was enforced. ``server_fault``: whether any other question would have failed the same way.
    ``from_cache``: whether it was paid for earlier; ``usage`` is then the original cost.
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
