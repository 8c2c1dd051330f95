"""What server errors mean: whether they concern one question, the server for now, or the server for good."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

from abcdlink.errors import InputError
from abcdlink.llm.records import Outcome

LONGEST_WAIT = 300.0
"""Seconds; a server that asks for a longer wait is abandoned."""
OVERLOADED = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE, 529}
"""The server is overloaded; 529 is Anthropic's."""
PASSING = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
"""Statuses below 500 that may be temporary."""
REFUSING = {HTTPStatus.BAD_REQUEST, HTTPStatus.UNSUPPORTED_MEDIA_TYPE, HTTPStatus.UNPROCESSABLE_ENTITY}
"""Statuses of a request that contains something unknown to the server."""
FOR_GOOD = {
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.PAYMENT_REQUIRED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.METHOD_NOT_ALLOWED,
    HTTPStatus.PROXY_AUTHENTICATION_REQUIRED,
}
"""Statuses that every other question would also get: the key, account, address or model is wrong."""

# One wording each of OpenAI, vLLM (three), llama.cpp, SGLang, TGI, Mistral, Anthropic and Gemini.
CONTEXT_EXCEEDED = re.compile(
    r"context_length_exceeded|maximum context length|exceed_context_size|available context size"
    r"|longer than the (?:maximum model length|model['\u2019]s (?:maximum )?context length)"
    r"|max_new_tokens` must be|prompt is too long|(?:max_model_len|maximum model length)"
    r"|maximum number of tokens allowed",
    re.IGNORECASE,
)
# OpenAI, Azure, OpenRouter (403), Alibaba, Gemini.
FILTERED = re.compile(
    r"content[_ ]?filter|content[_ ](?:management[_ ])?policy|responsible_?ai_?policy|data_inspection_failed"
    r"|(?:inappropriate|prohibited)[_ ]content|safety (?:system|policy|settings|guidelines)|moderation|usage policies",
    re.IGNORECASE,
)
ANSWER_NOT_VALID = re.compile(
    r"json_validate_failed|failed to (?:generate|validate) json|output_parse_failed|tool_use_failed", re.IGNORECASE
)
"""The server's own check rejected the model's answer."""
BUSY = re.compile(r"rate.?limit|overload|too many requests|capacity|try again|temporar", re.IGNORECASE)


class ProfileError(InputError):
    """An LLM profile cannot be used as configured; others can."""


class NoReplyError(Exception):
    """A request without a completion, its outcome, what happened and what the server said.

    ``status``: of HTTP, 0 if there was none. ``server_fault``: whether other questions would fail the same way.
    """

    def __init__(
        self, outcome: Outcome, detail: str, status: int = 0, said: str = "", *, server_fault: bool = False
    ) -> None:
        super().__init__(detail)
        self.outcome, self.detail, self.status, self.said = outcome, detail, status, said
        self.server_fault = server_fault


def error_within(body: Any) -> dict[str, Any] | None:  # noqa: ANN401 - any JSON value
    """Return the error that a server sent in place of an answer in a reply with status 200, if any.

    Some put it beside empty ``choices``, others into the first of them.
    """
    if not isinstance(body, dict):
        return None
    choices = body.get("choices")
    places = [body] if not choices else choices[:1] if isinstance(choices, list) else []
    for place in places:
        error = place.get("error") if isinstance(place, dict) else None
        if error and not (isinstance(place.get("message"), dict) and place["message"].get("content")):
            return error if isinstance(error, dict) else {"message": str(error)}
    return None


def status_of(error: dict[str, Any]) -> int:
    """Return the HTTP status of an error within a reply; 502 if it has none."""
    for name in ("code", "status", "status_code"):
        code = str(error.get(name))
        if code.isascii() and code.isdigit() and len(code) == 3 and int(code) >= HTTPStatus.BAD_REQUEST:  # noqa: PLR2004
            return int(code)
    said = json.dumps(error, ensure_ascii=False, default=str)
    if CONTEXT_EXCEEDED.search(said) or FILTERED.search(said) or ANSWER_NOT_VALID.search(said):
        return HTTPStatus.BAD_REQUEST
    return HTTPStatus.TOO_MANY_REQUESTS if BUSY.search(said) else HTTPStatus.BAD_GATEWAY


def outcome_of(error: Any) -> Outcome:  # noqa: ANN401 - an openai.APIStatusError
    """Return what an HTTP error says about the question: too long, refused by a filter, or answered in an invalid form.

    ``FAILED`` if it says nothing about it.
    """
    if error.status_code == HTTPStatus.TOO_MANY_REQUESTS:
        return Outcome.FAILED
    said = f"{error.body} {error}"
    if error.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or CONTEXT_EXCEEDED.search(said):
        return Outcome.TOO_LONG
    if error.status_code in {*REFUSING, HTTPStatus.FORBIDDEN}:
        if FILTERED.search(said):
            return Outcome.REFUSED
        if ANSWER_NOT_VALID.search(said):
            return Outcome.INVALID
    return Outcome.FAILED


def may_pass(error: BaseException) -> bool:
    """Tell whether the same request may succeed later."""
    import openai

    if isinstance(error, openai.APIConnectionError):
        return True
    if not isinstance(error, openai.APIStatusError) or error.code == "insufficient_quota":
        return False
    if outcome_of(error) is not Outcome.FAILED:
        return False
    passing = error.status_code in PASSING or error.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR
    return passing and (retry_after(error) or 0) <= LONGEST_WAIT


def is_for_good(error: Any) -> bool:  # noqa: ANN401 - an openai.APIStatusError
    """Tell whether every other question would also get this error."""
    if error.code == "insufficient_quota":
        return True
    return error.status_code in FOR_GOOD and outcome_of(error) is Outcome.FAILED


def was_under_way(error: BaseException) -> bool:
    """Tell whether the server may have done, and may bill, the work although no answer came."""
    # The HTTP library is internal to the package, so its errors are recognised by name.
    return type(error.__cause__).__name__ == "ReadTimeout"


def retry_after(error: BaseException | None) -> float | None:
    """Return the seconds that the server asks to wait (RFC 9110: seconds or a date), if any."""
    response = getattr(error, "response", None)
    value = response.headers.get("retry-after", "") if response is not None else ""
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None
