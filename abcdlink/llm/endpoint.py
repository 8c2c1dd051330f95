"""The one place that talks to an OpenAI-compatible server: patience, and what its errors mean."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from tenacity import RetryCallState, Retrying, retry_if_exception, wait_exponential_jitter

from abcdlink.errors import InputError, ServiceError
from abcdlink.llm.accounting import usage_of
from abcdlink.llm.probabilities import Token, tokens_of
from abcdlink.llm.records import Outcome, Usage
from abcdlink.settings import Settings

if TYPE_CHECKING:
    from openai import OpenAI

ATTEMPTS = 6
"""How often one request is sent at most: 5 waits of 1, 2, 4, 8 and 16 s, longer than a server's restart."""
LONGEST_WAIT = 300.0
"""Seconds; a server that asks for more patience than this is given up."""
CHECK_TIMEOUT = 10.0
"""Seconds for a sign of life."""
PASSING = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
"""Statuses below 500 that may go away by themselves."""
KEY_LENGTH = 8
"""Shorter keys are placeholders (`unused`, `EMPTY`), and words that occur in texts."""

# One wording each for OpenAI, vLLM (three), llama.cpp, SGLang, TGI, Mistral, Anthropic and Gemini.
CONTEXT_EXCEEDED = re.compile(
    r"context_length_exceeded|maximum context length|exceed_context_size|available context size"
    r"|longer than the (?:maximum model length|model['\u2019]s (?:maximum )?context length)"
    r"|max_new_tokens` must be|prompt is too long|(?:max_model_len|maximum model length)"
    r"|maximum number of tokens allowed",
    re.IGNORECASE,
)

_backoff = wait_exponential_jitter(initial=1, max=30, jitter=1)


class Reply(NamedTuple):
    """A completion as it came: text, why the model stopped, its own words of refusal, what it used, its tokens.

    There are no ``tokens`` where log-probabilities were not asked for or the server gives none.
    """

    text: str
    finish: str
    refusal: str
    usage: Usage
    tokens: tuple[Token, ...] = ()


class NoReplyError(Exception):
    """The request got no completion; ``outcome`` is ``too_long`` or ``failed``."""

    def __init__(self, outcome: Outcome, detail: str) -> None:
        super().__init__(detail)
        self.outcome, self.detail = outcome, detail


class Endpoint:
    """A server with the OpenAI API at ``settings.llm_base_url``, or the embedded one where that is empty.

    Args:
        settings: address, key, model, time limit and prices.
        sleep: waits so many seconds; another one makes tests fast.

    Raises:
        InputError: the address is none.
    """

    def __init__(self, settings: Settings, sleep: Callable[[float], None] = time.sleep) -> None:
        self.settings = settings
        self.base_url = settings.llm_base_url or f"http://127.0.0.1:{settings.llm_port}/v1"
        self._sleep = sleep
        self._dead = False
        self._client = self._make_client()

    def _make_client(self) -> OpenAI:
        import openai

        # A proxy of the environment must not come between this machine and itself.
        local = _host_of(self.base_url) in {"127.0.0.1", "localhost", "::1"}
        return openai.OpenAI(
            base_url=self.base_url,
            api_key=self.settings.llm_api_key.get_secret_value() or "unused",
            max_retries=0,
            timeout=self.settings.llm_timeout,
            http_client=openai.DefaultHttpxClient(trust_env=False) if local else None,
        )

    @property
    def shown_url(self) -> str:
        """The address without a user name or password in it."""
        return _without_login(self.base_url)

    def complete(self, request: dict[str, Any]) -> Reply:
        """Send one chat completion; wait and send again while the trouble may pass.

        Once a server has not been reached for a whole round of attempts, later requests try once
        each until one gets through: a dead server must not cost every question the full patience.

        Raises:
            NoReplyError: the request does not fit the model's context, or all attempts failed.
        """
        import openai

        retrying = Retrying(
            stop=self._is_enough, wait=_wait, retry=retry_if_exception(_may_pass), sleep=self._sleep, reraise=True
        )
        try:
            reply = retrying(self._send, request)
        except openai.APIConnectionError as error:
            self._dead = True
            raise NoReplyError(Outcome.FAILED, f"{self.shown_url} does not answer: {_first_line(error)}") from None
        except openai.APIStatusError as error:
            self._dead = False
            outcome = Outcome.TOO_LONG if _is_too_long(error) else Outcome.FAILED
            raise NoReplyError(outcome, self._explain(error)) from None
        except (openai.OpenAIError, ValueError) as error:
            raise NoReplyError(Outcome.FAILED, self.scrub(f"no chat completion: {_first_line(error)}")) from None
        self._dead = False
        return reply

    def _send(self, request: dict[str, Any]) -> Reply:
        start = time.perf_counter()
        completion = self._client.chat.completions.create(**request)
        seconds = time.perf_counter() - start
        if not getattr(completion, "choices", None):
            msg = "the reply holds no choices"
            raise ValueError(msg)
        choice = completion.choices[0]
        return Reply(
            text=self.scrub(choice.message.content or ""),
            finish=choice.finish_reason or "",
            refusal=self.scrub(choice.message.refusal or ""),
            usage=usage_of(completion.usage, seconds, self.settings),
            tokens=tokens_of(choice.logprobs),
        )

    def _is_enough(self, state: RetryCallState) -> bool:
        import openai

        unreachable = isinstance(_error_of(state), openai.APIConnectionError)
        return state.attempt_number >= (1 if self._dead and unreachable else ATTEMPTS)

    def scrub(self, text: str) -> str:
        """Return storable text without the key, whoever wrote it into there."""
        text = text.encode("utf-8", "replace").decode()
        key = self.settings.llm_api_key.get_secret_value()
        return text.replace(key, "***") if len(key) >= KEY_LENGTH else text

    def _explain(self, error: Any) -> str:  # noqa: ANN401 - an openai.APIStatusError
        return self.scrub(f"HTTP {error.status_code} from {self.shown_url}: {_first_line(error)}")

    def check(self) -> None:
        """Ask for the list of models, once.

        Raises:
            ServiceError: the server is not there, refuses the key or does not serve the model.
        """
        import openai

        start = "start it with `abcdlink up`, or point ABCDLINK_LLM_BASE_URL to a running server"
        if self.settings.llm_base_url:
            start = "start the server, or mend ABCDLINK_LLM_BASE_URL"
        try:
            models = [model.id for model in self._client.models.list(timeout=CHECK_TIMEOUT)]
        except openai.APIConnectionError as error:
            msg = f"the LLM endpoint {self.shown_url} does not answer ({_first_line(error)})"
            raise ServiceError(msg, start) from None
        except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
            msg = f"the LLM endpoint {self.shown_url} refuses the key (HTTP {error.status_code})"
            raise ServiceError(msg, "set ABCDLINK_LLM_API_KEY to a valid key") from None
        except openai.APIStatusError as error:
            msg = f"the LLM endpoint does not work: {self._explain(error)}"
            mend = "look whether the server is ready and ABCDLINK_LLM_BASE_URL is complete (it often ends in /v1)"
            raise ServiceError(msg, mend) from None
        except (openai.OpenAIError, ValueError, AttributeError, TypeError):
            msg = f"{self.shown_url} does not speak the OpenAI API (GET {self.shown_url.rstrip('/')}/models)"
            raise ServiceError(msg, "mend ABCDLINK_LLM_BASE_URL; it often ends in /v1") from None
        if self.settings.llm_model not in models:
            msg = f"the LLM endpoint {self.shown_url} does not serve the model {self.settings.llm_model!r}"
            raise ServiceError(msg, f"set ABCDLINK_LLM_MODEL to one it serves: {', '.join(models[:20]) or 'none'}")


def _host_of(url: str) -> str:
    try:
        parts = urlsplit(url)
        valid = parts.scheme in {"http", "https"} and (parts.port is None or parts.port > 0)
    except ValueError:
        valid = False
    if not valid or not parts.hostname:
        msg = f"ABCDLINK_LLM_BASE_URL is {_without_login(url)!r}, which is no address"
        raise InputError(msg, "write it like http://HOST:PORT/v1")
    return parts.hostname


def _without_login(url: str) -> str:
    return re.sub(r"//[^/@]*@", "//", url)


def _error_of(state: RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome else None


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300].rstrip(".")


def _is_too_long(error: Any) -> bool:  # noqa: ANN401 - an openai.APIStatusError
    if error.status_code == HTTPStatus.TOO_MANY_REQUESTS:
        return False
    return error.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or bool(
        CONTEXT_EXCEEDED.search(f"{error.body} {error}")
    )


def _may_pass(error: BaseException) -> bool:
    """Whether the same request may succeed later."""
    import openai

    if isinstance(error, openai.APIConnectionError):
        return True
    if not isinstance(error, openai.APIStatusError) or _is_too_long(error) or error.code == "insufficient_quota":
        return False
    passing = error.status_code in PASSING or error.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR
    return passing and (_retry_after(error) or 0) <= LONGEST_WAIT


def _wait(state: RetryCallState) -> float:
    asked = _retry_after(_error_of(state))
    return _backoff(state) if asked is None else asked


def _retry_after(error: BaseException | None) -> float | None:
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
