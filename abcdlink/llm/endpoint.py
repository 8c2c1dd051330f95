"""The one place that talks to an OpenAI-compatible server: with retries, a rate limit and a budget."""

from __future__ import annotations

import json
import re
import ssl
import time
from collections.abc import Callable, Iterator
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tenacity import RetryCallState, Retrying, retry_if_exception, wait_exponential_jitter

from abcdlink.errors import InputError, ServiceError, first_line
from abcdlink.llm.budget import Budget, Hold, Sum, cost_of, usage_of
from abcdlink.llm.errors import (
    OVERLOADED,
    NoReplyError,
    error_within,
    is_for_good,
    may_pass,
    outcome_of,
    retry_after,
    status_of,
    was_under_way,
)
from abcdlink.llm.records import Outcome
from abcdlink.llm.reply import Reply, reply_of
from abcdlink.llm.request import LIMIT, size_of
from abcdlink.llm.secrets import Secrets
from abcdlink.llm.server import ServerState, state_of
from abcdlink.settings import Settings
from abcdlink.together import stop_if_asked

if TYPE_CHECKING:
    from openai import APIStatusError, OpenAI

ATTEMPTS = 6
"""Most attempts of a request: 5 waits of 1, 2, 4, 8 and 16 s, longer than a server's restart."""
REFUSALS = 20
"""Most attempts if the server is only overloaded (HTTP 429, or it says when to come back)."""
MOST_BYTES = 32_000_000
"""Most bytes of a reply; log-probabilities of a long answer take some 5 MB."""
CHECK_TIMEOUT = 10.0
"""Timeout for checking that the server is alive, in seconds."""

_backoff = wait_exponential_jitter(initial=1, max=30, jitter=1)


class Endpoint:
    """A server with the OpenAI API at ``settings.llm_base_url``, or the embedded one if that is empty.

    ``sleep`` waits some seconds; tests replace it to be fast.

    Raises:
        InputError: the address is invalid.
    """

    offline = False
    """Whether there is no server and requests are best sent together."""

    def __init__(self, settings: Settings, budget: Budget, sleep: Callable[[float], None] = time.sleep) -> None:
        self.settings, self._budget, self._sleep = settings, budget, sleep
        self.base_url = settings.llm_base_url or f"http://127.0.0.1:{settings.llm_port}/v1"
        local = _host_of(self.base_url, settings.llm_setting("base_url")) in {"127.0.0.1", "localhost", "::1"}
        self.secrets = Secrets(settings.llm_api_key.get_secret_value(), self.base_url)
        self.state: ServerState = state_of(settings, self.base_url)
        self.client = self._make_client(local=local)

    def _make_client(self, *, local: bool) -> OpenAI:
        import openai

        client = openai.OpenAI(
            base_url=self.base_url,
            api_key=self.settings.llm_api_key.get_secret_value() or "unused",
            max_retries=0,
            timeout=self.settings.llm_timeout,
            # Requests to this machine must not go through a proxy that the environment names.
            http_client=openai.DefaultHttpxClient(trust_env=False, verify=_certificates()) if local else None,
        )
        self.secrets.keep_out_of_logs()
        return client

    @property
    def shown_url(self) -> str:
        """The address without a user name or password in it."""
        return _without_login(self.base_url)

    def start(self) -> None:
        """Do nothing: a server is started by others."""

    def complete(self, content: dict[str, Any], limit: str = LIMIT) -> Reply:
        """Send one chat completion; wait and retry while the problem may pass.

        After a server has not answered for a whole round of attempts, later requests try once each until one gets
        through: not every question must wait out a dead server. ``limit``: what the server calls the
        token limit.

        Raises:
            NoReplyError: the request does not fit the model's context, or all attempts failed.
            BudgetError: the call could exceed the budget.
        """
        import openai

        retrying = Retrying(
            stop=self._is_enough, wait=_wait, retry=retry_if_exception(may_pass), sleep=self._pause, reraise=True
        )
        try:
            reply = retrying(self._send, content, limit)
        except openai.APIConnectionError as error:
            self.state.given_up = True
            detail = self.secrets.hide(f"{self.shown_url} does not answer: {first_line(error)}")
            raise NoReplyError(Outcome.FAILED, detail, server_fault=True) from None
        except openai.APIStatusError as error:
            raise self._no_reply(error, content) from None
        except (openai.OpenAIError, ValueError, RecursionError) as error:
            self.state.broke_on(json.dumps(content["messages"]))
            detail = self.secrets.hide(f"no chat completion: {first_line(error)}")
            raise NoReplyError(Outcome.FAILED, detail, server_fault=self.state.given_up) from None
        self.state.answered()
        return reply

    def _no_reply(self, error: APIStatusError, content: dict[str, Any]) -> NoReplyError:
        """Classify an HTTP error: it concerns this question, the server for now, or the server for good."""
        outcome = outcome_of(error)
        if outcome is not Outcome.FAILED:
            self.state.answered()
        elif error.status_code in OVERLOADED and may_pass(error):
            self.state.given_up = True
        else:
            self.state.broke_on(json.dumps(content["messages"]))
        return NoReplyError(
            outcome,
            self._explain(error),
            error.status_code,
            self.secrets.hide(f"{error.body} {error}"),
            server_fault=is_for_good(error) or self.state.given_up,
        )

    def _pause(self, seconds: float) -> None:
        stop_if_asked()
        if seconds:
            self._sleep(seconds)

    def _send(self, content: dict[str, Any], limit: str) -> Reply:
        """Send once, when the rate limiter and the budget allow it."""
        import openai

        stop_if_asked()
        limiter = self.state.limiter
        entered = limiter.enter(self._sleep)
        try:
            with self._budget.call(self.most(content)) as hold:
                reply = self._reply(content, limit, hold)
        except openai.APIStatusError as error:
            if error.status_code in OVERLOADED and may_pass(error):
                limiter.refused(entered, retry_after(error) or 0)
            raise
        finally:
            limiter.leave()
        limiter.passed()
        return reply

    def _reply(self, content: dict[str, Any], limit: str, hold: Hold) -> Reply:
        import openai

        start = time.perf_counter()
        create = self.client.chat.completions.with_streaming_response.create
        try:
            with create(
                model=content["model"],
                messages=(),  # ``extra_body`` has the messages: the package would check each against its types first
                extra_body={limit if name == LIMIT else name: value for name, value in content.items()},
            ) as response:
                hold.used = hold.most  # whatever the reply says: the server has done its work
                raw = self._read(response.iter_bytes(), start)
        except openai.APITimeoutError as error:
            hold.used = hold.most if was_under_way(error) else None
            raise
        body = json.loads(raw)
        if refusal := error_within(body):
            hold.used = None
            raise _status_error(refusal, response.http_response)
        reported = body.get("usage") if isinstance(body, dict) else None
        usage = usage_of(reported, time.perf_counter() - start, self.settings)
        if tokens := usage.prompt_tokens + usage.completion_tokens:
            hold.used = Sum(tokens, usage.cost)
        self.state.ratio.note(size_of(content), usage.prompt_tokens)
        return reply_of(body, usage, self.secrets.hide)

    def _read(self, chunks: Iterator[bytes], start: float) -> bytes:
        """Return the whole reply; raises ``ValueError`` if it does not end in time, or at all."""
        raw = bytearray()
        for chunk in chunks:
            raw += chunk
            # The package's own timeout is per chunk: a slow trickle would never end.
            if len(raw) > MOST_BYTES or time.perf_counter() - start > self.settings.llm_timeout:
                msg = f"the reply did not end within {self.settings.llm_timeout:g} s and {MOST_BYTES:,} bytes"
                raise ValueError(msg)
        return bytes(raw)

    def most(self, content: dict[str, Any]) -> Sum:
        """Return the most that one call may cost."""
        prompt, completion = self.state.ratio.most(size_of(content)), content[LIMIT]
        return Sum(prompt + completion, cost_of(self.settings, prompt, completion))

    def _is_enough(self, state: RetryCallState) -> bool:
        import openai

        error = _error_of(state)
        status = getattr(error, "status_code", 0)
        broken = status >= HTTPStatus.INTERNAL_SERVER_ERROR or isinstance(error, openai.APIConnectionError)
        if self.state.given_up and (status in OVERLOADED or broken):
            return True
        busy = status == HTTPStatus.TOO_MANY_REQUESTS or (status in OVERLOADED and retry_after(error) is not None)
        return state.attempt_number >= (REFUSALS if busy else ATTEMPTS)

    def _explain(self, error: APIStatusError) -> str:
        return self.secrets.hide(f"HTTP {error.status_code} from {self.shown_url}: {first_line(error)}")

    def models(self) -> list[str]:
        """Return the models that the server lists; a server without a list of models has none.

        Raises:
            ServiceError: the server is unavailable, refuses the key or does not speak the OpenAI API.
        """
        import openai

        address, key = self.settings.llm_setting("base_url"), self.settings.llm_setting("api_key")
        start = f"start it with `abcdlink up`, or point {address} at a running server"
        if self.settings.llm_base_url:
            start = f"start the server, or correct {address}"
        try:
            return [model.id for model in self.client.models.list(timeout=CHECK_TIMEOUT)]
        except openai.APIConnectionError as error:
            msg = f"the LLM endpoint {self.shown_url} does not answer ({first_line(error)})"
            raise ServiceError(msg, start) from None
        except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
            msg = f"the LLM endpoint {self.shown_url} refuses the key (HTTP {error.status_code})"
            raise ServiceError(msg, f"set {key} to a valid key") from None
        except openai.APIStatusError as error:
            msg = f"the LLM endpoint does not work: {self._explain(error)}"
            hint = f"check that the server is ready and {address} is complete (it often ends in /v1)"
            raise ServiceError(msg, hint) from None
        except (openai.OpenAIError, ValueError, AttributeError, TypeError):
            msg = f"{self.shown_url} does not speak the OpenAI API (GET {self.shown_url.rstrip('/')}/models)"
            raise ServiceError(msg, f"correct {address}; it often ends in /v1") from None


@cache
def _certificates() -> ssl.SSLContext:
    """Return this machine's trusted certificates; reading them takes 0.1 s, so this is done once."""
    return ssl.create_default_context()


def _status_error(error: dict[str, Any], response: Any) -> APIStatusError:  # noqa: ANN401 - an httpx.Response
    """Return an error in a reply with status 200 as the error of its own status."""
    import openai

    response.status_code = status_of(error)
    return openai.APIStatusError(str(error.get("message") or error), response=response, body=error)


def _host_of(url: str, setting: str) -> str:
    try:
        parts = urlsplit(url)
        valid = (
            parts.scheme in {"http", "https"} and (parts.port is None or parts.port > 0) and not set(url) & set(" \t\n")
        )
    except ValueError:
        valid = False
    if not valid or not parts.hostname:
        msg = f"{setting} is not a valid URL: {_without_login(url)!r}"
        raise InputError(msg, "write it like http://HOST:PORT/v1")
    if parts.query or parts.fragment:
        msg = f"{setting} must not have a query or fragment: {_without_login(url)!r}"
        raise InputError(
            msg, "remove everything from '?' or '#' on; for Azure write https://RESOURCE.openai.azure.com/openai/v1"
        )
    return parts.hostname


def _without_login(url: str) -> str:
    return re.sub(r"//[^/@]*@", "//", url)


def _error_of(state: RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome else None


def _wait(state: RetryCallState) -> float:
    # If the server says how long, the rate limiter waits, for everyone.
    asked = retry_after(_error_of(state))
    return _backoff(state) if asked is None else 0.0
