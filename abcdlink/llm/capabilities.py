"""What a server can do: found out by a small question, kept for a day, corrected when it refuses."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from abcdlink.corpus.records import Record
from abcdlink.folders import write_atomically
from abcdlink.llm.budget import Ledger
from abcdlink.llm.errors import REFUSING, NoReplyError
from abcdlink.llm.parsing import parse
from abcdlink.llm.records import Form, Message, Outcome, Question
from abcdlink.llm.reply import Reply
from abcdlink.llm.request import LIMIT, OLD_LIMIT, content_key, content_of

if TYPE_CHECKING:
    from abcdlink.llm.endpoint import Endpoint

KEPT = 24 * 3600.0
"""Seconds for which other processes rely on the result; the server may be replaced by a better one."""
PROBE = Question(
    messages=(Message(role="user", content="Is water wet? Answer with one word."),),
    json_schema={
        "type": "object",
        "properties": {"wet": {"type": "boolean"}},
        "required": ["wet"],
        "additionalProperties": False,
    },
    stage="probe",
    max_tokens=64,
    probabilities=True,
)
"""No model answers this by the schema unless it is forced to."""

ABOUT_FORM = re.compile(r"response_?format|json_schema|json_object|structured.?output|guided", re.IGNORECASE)
ABOUT_SCHEMA = re.compile(r"invalid_json_schema|invalid schema", re.IGNORECASE)
"""The server knows schemas but not this one."""


class Capabilities(Record):
    """How to talk to a server.

    ``form``: the strictest form of answers that it supports. ``probabilities``: whether it gives
    log-probabilities. ``limit``: its name for the token limit. ``remarks``: why it is not asked
    for more, in words.
    """

    form: Form = Form.JSON_SCHEMA
    probabilities: bool = True
    limit: str = LIMIT
    remarks: tuple[str, ...] = ()

    def less(self, remark: str, **changed: object) -> Capabilities:
        """Return the same without one capability, with the reason."""
        return self.model_copy(update={**changed, "remarks": (*self.remarks, remark)})


def find_out(send: Callable[[Capabilities], Reply], forms: Sequence[Form]) -> Capabilities:
    """Try the small question on a server, from the most to the fewest capabilities.

    ``send``: sends the small question with given capabilities; ``forms``: those that may be tried, strictest
    first. Raises the ``NoReplyError`` of ``send`` when the server does not answer at all.
    """
    tried = Capabilities(form=forms[0])
    while True:
        try:
            reply = send(tried)
        except NoReplyError as error:
            less = after_refusal(tried, error, forms) or _guess(tried, error, forms)
            if less is None:
                raise
            tried = less
            continue
        if tried.probabilities and not reply.tokens:
            tried = tried.less("it sends no log-probabilities", probabilities=False)
        weaker = _weaker(tried.form, forms)
        if tried.form is not Form.JSON_SCHEMA or weaker is None or _keeps_to_schema(reply):
            return tried
        tried = tried.less("its answers do not follow a JSON schema", form=weaker)


def after_refusal(used: Capabilities, error: NoReplyError, forms: Sequence[Form]) -> Capabilities | None:
    """Return how to repeat a refused request, if the refusal names something that can be left out."""
    if error.status not in REFUSING or error.outcome is not Outcome.FAILED:
        return None
    if LIMIT in error.said and used.limit == LIMIT:
        return used.less(f"it refuses {LIMIT}: {error.detail}", limit=OLD_LIMIT)
    if "logprobs" in error.said and used.probabilities:
        return used.less(f"it refuses logprobs: {error.detail}", probabilities=False)
    weaker = _weaker(used.form, forms)
    if weaker is not None and ABOUT_FORM.search(error.said):
        return used.less(f"it refuses {used.form}: {error.detail}", form=weaker)
    return None


def _guess(used: Capabilities, error: NoReplyError, forms: Sequence[Form]) -> Capabilities | None:
    """Return what to try next if the server does not say what it refuses."""
    if error.status not in REFUSING:
        return None
    if used.probabilities:
        return used.less(f"it refuses logprobs or {used.form}: {error.detail}", probabilities=False)
    weaker = _weaker(used.form, forms)
    return used.less(f"it refuses {used.form}: {error.detail}", form=weaker) if weaker else None


def _weaker(form: Form, forms: Sequence[Form]) -> Form | None:
    return next(iter(forms[forms.index(form) + 1 :]), None)


def _keeps_to_schema(reply: Reply) -> bool:
    # A model that spends the whole limit on thinking shows nothing; the server accepted the schema.
    silent = not reply.text.strip() or reply.finish == "length"
    return silent or parse(reply.text, PROBE.json_schema).outcome.answered


class Discovery:
    """What is known about an endpoint's server; all clients of the server in this process share it.

    Results are stored in ``folder`` for other processes; the cost of the small question is added to ``spent``.
    """

    def __init__(self, endpoint: Endpoint, folder: Path, spent: Ledger) -> None:
        self._endpoint, self._spent = endpoint, spent
        settings, form = endpoint.settings, endpoint.settings.llm_answers
        self.forms: tuple[Form, ...] = tuple(Form) if form == "auto" else (Form(form),)
        """The forms that may be asked for, strictest first."""
        probe = content_of(PROBE, settings, self.forms[0], logprobs=True)
        asked = {"server": endpoint.shown_url, "forms": self.forms, "probe": probe}
        self._path = folder / f"{content_key(asked)}.json"

    @property
    def known(self) -> Capabilities | None:
        """What was found out by this process, or by another one less than a day ago."""
        return self._endpoint.state.capabilities or self._load()

    def know(self) -> Capabilities:
        """Return what the server can do; asks it if nobody has in the last day.

        Raises:
            NoReplyError: it does not answer.
        """
        state, failures = self._endpoint.state, self._endpoint.state.failures
        with state.lock:
            if state.failure is not None and state.failures > failures:
                # Another thread found out while this one waited; do not wait for a dead server in turn.
                raise state.failure
            if self._endpoint.offline:
                self._endpoint.start()
                state.capabilities = Capabilities(form=self.forms[0])
            state.capabilities = self.known
            if state.capabilities is None:
                try:
                    return self.ask(strict=False)
                except NoReplyError as error:
                    state.failure, state.failures = error, state.failures + 1
                    raise
            return state.capabilities

    def ask(self, *, strict: bool = True) -> Capabilities:
        """Ask the server the small question.

        Raises:
            NoReplyError: it does not answer. If it refuses the question whatever is left out, this is raised only
                if ``strict``; otherwise the real questions will tell.
        """

        def send(tried: Capabilities) -> Reply:
            content = content_of(PROBE, self._endpoint.settings, tried.form, logprobs=tried.probabilities)
            reply = self._endpoint.complete(content, tried.limit)
            self._spent.add(PROBE.stage, reply.usage)
            return reply

        try:
            found = find_out(send, self.forms)
        except NoReplyError as error:
            if strict or error.status not in REFUSING:
                raise
            found = Capabilities(form=self.forms[0])
        self.learn(found)
        return found

    def learn(self, capabilities: Capabilities) -> None:
        """Store the result, for other processes too."""
        self._endpoint.state.capabilities = capabilities
        write_atomically(self._path, capabilities.model_dump_json(indent=2).encode())

    def _load(self) -> Capabilities | None:
        try:
            if time.time() - self._path.stat().st_mtime > KEPT:
                return None
            return Capabilities.model_validate_json(self._path.read_bytes())
        except (FileNotFoundError, ValidationError):
            return None
