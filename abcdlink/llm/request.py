"""The request for a question and settings, and the cache of answers, keyed by the content of the request."""

from __future__ import annotations

import hashlib
import json
import logging
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from abcdlink.errors import InputError
from abcdlink.folders import write_atomically
from abcdlink.llm.parsing import is_listwise
from abcdlink.llm.records import Answer, Form, Outcome, Question
from abcdlink.settings import Settings

LOG = logging.getLogger(__name__)
LIMIT = "max_completion_tokens"
OLD_LIMIT = "max_tokens"
"""Name of the limit on servers that do not know the newer one."""
OURS = {"model", "messages", "stream", "n", "response_format", "logprobs", "top_logprobs", LIMIT, OLD_LIMIT}
"""Parameters that have their own setting or that the client depends on."""


def extra_of(settings: Settings) -> dict[str, Any]:
    """Return the parameters of ``llm_extra``.

    Raises:
        InputError: it is not a JSON object, or sets a parameter that must not be set there.
    """
    if not settings.llm_extra.strip():
        return {}
    where, hint = settings.llm_setting("extra"), """write a JSON object such as '{"top_k": 20}'"""
    try:
        extra = json.loads(settings.llm_extra, parse_constant=_no_number)
    except ValueError as error:
        msg = f"{where} is not JSON ({error})"
        raise InputError(msg, hint) from None
    if not isinstance(extra, dict):
        msg = f"{where} is not a JSON object but {settings.llm_extra[:50]!r}"
        raise InputError(msg, hint)
    if taken := sorted(OURS & set(extra)):
        msg = f"{where} must not set {', '.join(taken)}"
        raise InputError(msg, "remove it; other LLM settings or the program set it")
    return extra


def _no_number(constant: str) -> float:
    msg = f"{constant} is not a number"
    raise ValueError(msg)


def content_of(question: Question, settings: Settings, form: Form, *, logprobs: bool) -> dict[str, Any]:
    """Return the body of the chat completion; its content is the key of the cache.

    ``form``: how the form of the answer is enforced; ``logprobs``: whether to ask for log-probabilities.
    """
    limit = question.max_tokens or settings.llm_max_tokens
    # Thinking counts too, but is not part of the answer for which the question allows tokens.
    if settings.llm_thinking_tokens:
        limit += settings.llm_thinking_tokens
    elif settings.llm_reasoning_effort and question.max_tokens:
        limit += settings.llm_max_tokens
    body: dict[str, Any] = {
        "model": settings.llm_model,
        "messages": [message.model_dump() for message in question.messages],
        "temperature": settings.llm_temperature,
        "top_p": settings.llm_top_p,
        "seed": settings.llm_seed if question.seed is None else question.seed,
        LIMIT: limit,
    }
    if form is Form.JSON_SCHEMA:
        answer = {"name": "answer", "schema": question.json_schema, "strict": True}
        body["response_format"] = {"type": form.value, "json_schema": answer}
    else:
        # At the end, so that what questions have in common stays one prefix.
        body["messages"][-1]["content"] += f"\n\n{in_words(question.json_schema)}"
        if form is Form.JSON_OBJECT:
            body["response_format"] = {"type": form.value}
    if settings.llm_reasoning_effort:
        body["reasoning_effort"] = settings.llm_reasoning_effort
    if logprobs:
        body |= {"logprobs": True, "top_logprobs": settings.llm_top_logprobs}
    body |= extra_of(settings)
    return {name: value for name, value in body.items() if value is not None}


def in_words(schema: dict[str, Any]) -> str:
    """Describe the form of an answer, for servers that do not accept a schema."""
    properties = schema.get("properties", {})
    if is_listwise(schema):
        values = {"boolean": "true or false", "string": '"..."'}
        example = ", ".join(
            f"{json.dumps(key, ensure_ascii=False)}: {values[kind['type']]}" for key, kind in properties.items()
        )
        return f"Answer with one JSON object that has exactly these keys, and with nothing else: {{{example}}}"
    written = json.dumps(schema, ensure_ascii=False)
    return f"Answer with one JSON object that fits this JSON schema, and with nothing else: {written}"


def size_of(content: dict[str, Any]) -> int:
    """Return the number of UTF-8 bytes that may count as prompt: messages and schema."""
    prompt = sum(len(message["content"].encode()) for message in content["messages"])
    return prompt + len(json.dumps(content.get("response_format", {}), ensure_ascii=False).encode())


def content_key(request: dict[str, Any]) -> str:
    """Return the SHA-256 of everything that a model receives: its name, parameters, messages and schema.

    The order of keys counts: servers write the properties of a schema in the order they are given.
    """
    return hashlib.sha256(json.dumps(request).encode()).hexdigest()


def answer_key(request: dict[str, Any], settings: Settings) -> str:
    """Return the key of an answer: the content of its request, and the profile if it has a name.

    Two profiles may give one model name to different builds of a model, whose answers must not be confused.
    """
    return content_key({**request, "profile": settings.llm_profile} if settings.llm_profile else request)


class Bodies:
    """The bodies with which a question can be sent, and their cache keys; each is built once."""

    def __init__(self, question: Question, settings: Settings) -> None:
        self.question, self._settings = question, settings
        self._made: dict[tuple[Form, bool], tuple[dict[str, Any], str]] = {}

    def content(self, form: Form, *, logprobs: bool) -> dict[str, Any]:
        """Return the body; see ``content_of``."""
        return self._make(form, logprobs)[0]

    def key(self, form: Form, *, logprobs: bool) -> str:
        """Return the key of its answer."""
        return self._make(form, logprobs)[1]

    def _make(self, form: Form, logprobs: bool) -> tuple[dict[str, Any], str]:
        if (form, logprobs) not in self._made:
            content = content_of(self.question, self._settings, form, logprobs=logprobs)
            self._made[form, logprobs] = content, answer_key(content, self._settings)
        return self._made[form, logprobs]


class AnswerCache:
    """One JSON file per answer, ``<root>/aa/<key>.json``; a file is complete or does not exist.

    ``FAILED`` and ``TOO_LONG`` are never stored: they say something about the server, which may be
    another one tomorrow, or have a longer context, and they cost nothing.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def _path(self, key: str) -> Path:
        return self.root / key[:2] / f"{key}.json"

    def get(self, key: str) -> Answer | None:
        """Return the answer with ``from_cache`` set, or ``None`` if the question was never answered."""
        try:
            answer = Answer.model_validate_json(self._path(key).read_bytes())
        except FileNotFoundError:
            return None
        except ValidationError:
            LOG.warning("%s is not an answer of this version; the question is asked again", self._path(key))
            return None
        return answer.model_copy(update={"from_cache": True})

    def put(self, key: str, answer: Answer) -> None:
        """Store a final answer."""
        if answer.outcome not in (Outcome.FAILED, Outcome.TOO_LONG):
            write_atomically(self._path(key), answer.model_dump_json().encode())
