"""The one place that talks to an OpenAI-compatible server: with patience, at its pace, within the budget."""

from __future__ import annotations

import re
import ssl
import time
from collections.abc import Callable
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tenacity import RetryCallState, Retrying, retry_if_exception, wait_exponential_jitter

from abcdlink.errors import InputError, ServiceError
from abcdlink.llm.accounting import cost_of, usage_of
from abcdlink.llm.purse import Hold, Purse, Sum
from abcdlink.llm.records import Outcome
from abcdlink.llm.reply import Reply, reply_of
from abcdlink.llm.secrets import Secrets
from abcdlink.llm.shared import Shared, shared_by
from abcdlink.llm.troubles import (
    OVERLOADED,
    NoReplyError,
    first_line,
    is_too_long,
    may_pass,
    retry_after,
    was_under_way,
)
from abcdlink.llm.wire import LIMIT, size_of
from abcdlink.settings import Settings

if TYPE_CHECKING:
    from openai import APIStatusError, OpenAI
    from openai.types.chat import ChatCompletion

ATTEMPTS = 6
"""How often one request is sent at most: 5 waits of 1, 2, 4, 8 and 16 s, longer than a server's restart."""
REFUSALS = 20
"""How often it is sent at most to a server that only has too much to do (HTTP 429, or it says when to come back)."""
CHECK_TIMEOUT = 10.0
"""Seconds for a sign of life."""

_backoff = wait_exponential_jitter(initial=1, max=30, jitter=1)


class Endpoint:
    """A server with the OpenAI API at ``settings.llm_base_url``, or the embedded one where that is empty.

    Args:
        settings: address, key, model, time limit, prices and budget.
        purse: what may be spent.
        sleep: waits so many seconds; another one makes tests fast.

    Raises:
        InputError: the address is none.
    """

    def __init__(self, settings: Settings, purse: Purse, sleep: Callable[[float], None] = time.sleep) -> None:
        self.settings, self._purse, self._sleep = settings, purse, sleep
        self.base_url = settings.llm_base_url or f"http://127.0.0.1:{settings.llm_port}/v1"
        local = _host_of(self.base_url) in {"127.0.0.1", "localhost", "::1"}
        self.secrets = Secrets(settings.llm_api_key.get_secret_value(), self.base_url)
        self.shared: Shared = shared_by(settings, self.base_url)
        self.client = self._make_client(local=local)

    def _make_client(self, *, local: bool) -> OpenAI:
        import openai

        client = openai.OpenAI(
            base_url=self.base_url,
            api_key=self.settings.llm_api_key.get_secret_value() or "unused",
            max_retries=0,
            timeout=self.settings.llm_timeout,
            # A proxy of the environment must not come between this machine and itself.
            http_client=openai.DefaultHttpxClient(trust_env=False, verify=_certificates()) if local else None,
        )
        self.secrets.keep_out_of_logs()
        return client

    @property
    def shown_url(self) -> str:
        """The address without a user name or password in it."""
        return _without_login(self.base_url)

    def complete(self, content: dict[str, Any], limit: str = LIMIT) -> Reply:
        """Send one chat completion; wait and send again while the trouble may pass.

        Once a server has not answered for a whole round of attempts, later requests try once each
        until one gets through: a dead server must not cost every question the full patience.

        Args:
            content: the body.
            limit: what the server calls the limit of tokens.

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
            self.shared.given_up = True
            detail = self.secrets.hide(f"{self.shown_url} does not answer: {first_line(error)}")
            raise NoReplyError(Outcome.FAILED, detail) from None
        except openai.APIStatusError as error:
            self.shared.given_up = error.status_code in OVERLOADED and may_pass(error)
            outcome = Outcome.TOO_LONG if is_too_long(error) else Outcome.FAILED
            said = self.secrets.hide(f"{error.body} {error}")
            raise NoReplyError(outcome, self._explain(error), error.status_code, said) from None
        except (openai.OpenAIError, ValueError) as error:
            detail = self.secrets.hide(f"no chat completion: {first_line(error)}")
            raise NoReplyError(Outcome.FAILED, detail) from None
        self.shared.given_up = False
        return reply

    def _pause(self, seconds: float) -> None:
        if seconds:
            self._sleep(seconds)

    def _send(self, content: dict[str, Any], limit: str) -> Reply:
        """Send once, when the gate lets it through and the purse allows it."""
        import openai

        gate = self.shared.gate
        entered = gate.enter(self._sleep)
        try:
            with self._purse.call(self.most(content)) as hold:
                reply = self._reply(content, limit, hold)
        except openai.APIStatusError as error:
            if error.status_code in OVERLOADED and may_pass(error):
                gate.refused(entered, retry_after(error) or 0)
            raise
        finally:
            gate.leave()
        gate.passed()
        return reply

    def _reply(self, content: dict[str, Any], limit: str, hold: Hold) -> Reply:
        import openai

        start = time.perf_counter()
        try:
            completion: ChatCompletion = self.client.chat.completions.create(
                model=content["model"],
                messages=content["messages"],
                extra_body={limit if name == LIMIT else name: value for name, value in content.items()},
            )
        except openai.APITimeoutError as error:
            hold.used = hold.most if was_under_way(error) else None
            raise
        usage = usage_of(getattr(completion, "usage", None), time.perf_counter() - start, self.settings)
        tokens = usage.prompt_tokens + usage.completion_tokens
        hold.used = Sum(tokens, usage.cost) if tokens else hold.most
        self.shared.ratio.note(size_of(content), usage.prompt_tokens)
        return reply_of(completion, usage, self.secrets.hide)

    def most(self, content: dict[str, Any]) -> Sum:
        """Return what one call may cost at most."""
        prompt, completion = self.shared.ratio.most(size_of(content)), content[LIMIT]
        return Sum(prompt + completion, cost_of(self.settings, prompt, completion))

    def _is_enough(self, state: RetryCallState) -> bool:
        import openai

        error = _error_of(state)
        status = getattr(error, "status_code", 0)
        if self.shared.given_up and (status in OVERLOADED or isinstance(error, openai.APIConnectionError)):
            return True
        busy = status == HTTPStatus.TOO_MANY_REQUESTS or (status in OVERLOADED and retry_after(error) is not None)
        return state.attempt_number >= (REFUSALS if busy else ATTEMPTS)

    def _explain(self, error: APIStatusError) -> str:
        return self.secrets.hide(f"HTTP {error.status_code} from {self.shown_url}: {first_line(error)}")

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
            models = [model.id for model in self.client.models.list(timeout=CHECK_TIMEOUT)]
        except openai.APIConnectionError as error:
            msg = f"the LLM endpoint {self.shown_url} does not answer ({first_line(error)})"
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


@cache
def _certificates() -> ssl.SSLContext:
    """Return this machine's trusted certificates; to read them takes 0.1 s, so this is done once."""
    return ssl.create_default_context()


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


def _wait(state: RetryCallState) -> float:
    # Where the server says how long, the gate waits, for all.
    asked = retry_after(_error_of(state))
    return _backoff(state) if asked is None else 0.0
