"""What the errors of servers mean: too long, worth waiting for, or a parameter that they do not know."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

from abcdlink.llm.records import Outcome

LONGEST_WAIT = 300.0
"""Seconds; a server that asks for more patience than this is given up."""
OVERLOADED = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE, 529}
"""The server has too much to do; 529 is Anthropic's."""
PASSING = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
"""Statuses below 500 that may go away by themselves."""
REFUSING = {HTTPStatus.BAD_REQUEST, HTTPStatus.UNSUPPORTED_MEDIA_TYPE, HTTPStatus.UNPROCESSABLE_ENTITY}
"""Statuses of a request with something in it that the server does not know."""

# One wording each for OpenAI, vLLM (three), llama.cpp, SGLang, TGI, Mistral, Anthropic and Gemini.
CONTEXT_EXCEEDED = re.compile(
    r"context_length_exceeded|maximum context length|exceed_context_size|available context size"
    r"|longer than the (?:maximum model length|model['\u2019]s (?:maximum )?context length)"
    r"|max_new_tokens` must be|prompt is too long|(?:max_model_len|maximum model length)"
    r"|maximum number of tokens allowed",
    re.IGNORECASE,
)


class NoReplyError(Exception):
    """The request got no completion.

    Args:
        outcome: ``too_long`` or ``failed``.
        detail: what happened, for a person.
        status: the HTTP status; 0 when there was none.
        said: what the server said.
    """

    def __init__(self, outcome: Outcome, detail: str, status: int = 0, said: str = "") -> None:
        super().__init__(detail)
        self.outcome, self.detail, self.status, self.said = outcome, detail, status, said


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text, without a full stop."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300].rstrip(".")


def is_too_long(error: Any) -> bool:  # noqa: ANN401 - an openai.APIStatusError
    """Tell whether the question does not fit the model's context."""
    if error.status_code == HTTPStatus.TOO_MANY_REQUESTS:
        return False
    return error.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or bool(
        CONTEXT_EXCEEDED.search(f"{error.body} {error}")
    )


def may_pass(error: BaseException) -> bool:
    """Tell whether the same request may succeed later."""
    import openai

    if isinstance(error, openai.APIConnectionError):
        return True
    if not isinstance(error, openai.APIStatusError) or is_too_long(error) or error.code == "insufficient_quota":
        return False
    passing = error.status_code in PASSING or error.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR
    return passing and (retry_after(error) or 0) <= LONGEST_WAIT


def was_under_way(error: BaseException) -> bool:
    """Tell whether the server may have worked, and may bill, although no answer came."""
    # The package's HTTP library is its own affair; its errors are known by their names.
    return type(error.__cause__).__name__ == "ReadTimeout"


def retry_after(error: BaseException | None) -> float | None:
    """Return the seconds that the server asks to wait (RFC 9110: seconds or a date), if it does."""
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
