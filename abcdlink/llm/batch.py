"""OpenAI's Batch API: questions as a file, answers within a day, at half the price.

``submit`` sends unanswered questions, ``collect`` puts the answers received into the cache of
answers, where later callers with the same questions find them.
"""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from abcdlink.corpus.records import Record
from abcdlink.errors import ServiceError, first_line
from abcdlink.llm.batch_files import PRICE, Batch, BatchItem, BatchStore, read_results
from abcdlink.llm.budget import Budget, Sum
from abcdlink.llm.client import LLM
from abcdlink.llm.errors import NoReplyError
from abcdlink.llm.records import Question, Usage
from abcdlink.llm.request import answer_key
from abcdlink.locks import LLM_BATCH, lock_of

if TYPE_CHECKING:
    from openai import OpenAI
    from openai.types import Batch as Job

ENDPOINT: Literal["/v1/chat/completions"] = "/v1/chat/completions"
WINDOW: Literal["24h"] = "24h"
"""The only completion window that OpenAI offers."""
MOST_QUESTIONS, MOST_BYTES = 50_000, 100_000_000
"""Limits of one file; OpenAI allows 50,000 requests and 200 MB."""
RETRIES = 4
"""Retries of a request by the package."""
OVER = {"completed", "failed", "expired", "cancelled"}
"""Statuses of batches that will give no more answers."""
REFUSED_BELOW = 500
"""HTTP statuses from 400 to this one mean that the server did not accept the request."""


class BatchTicket(Record):
    """The names of batches to ``collect``."""

    batches: tuple[str, ...]


class BatchState(Record):
    """How far batches are.

    ``waiting``: questions in pending batches. ``answered``: those whose answers are in the cache.
    ``open``: those that finished batches left without a final answer (truncated, refused by the server,
    expired), which are then asked as usual. ``statuses``: number of batches by status at the server.
    ``reasons``: reason why questions are open -> count. ``usage``: what was paid.
    """

    waiting: int
    answered: int
    open: int
    statuses: dict[str, int]
    reasons: dict[str, int]
    usage: Usage

    @property
    def done(self) -> bool:
        """Whether all batches are over."""
        return not self.waiting

    def __add__(self, other: BatchState) -> BatchState:
        """Return both together."""
        return BatchState(
            waiting=self.waiting + other.waiting,
            answered=self.answered + other.answered,
            open=self.open + other.open,
            statuses=Counter(self.statuses) + Counter(other.statuses),
            reasons=Counter(self.reasons) + Counter(other.reasons),
            usage=self.usage + other.usage,
        )


NOTHING = BatchState(waiting=0, answered=0, open=0, statuses={}, reasons={}, usage=Usage())
"""The state if nothing was asked by batch."""


def submit(llm: LLM, questions: Sequence[Question]) -> BatchTicket:
    """Send the questions that have no answer and are in no batch yet; returns all batches with any of them.

    What is sent is recorded before and after, under a name that the server also gets: a
    process that is killed at any point sends nothing twice when this is called again.

    Raises:
        BudgetError: the answers could cost more than the budget leaves; those questions are not sent.
        ServiceError: the server does not accept the batch.
    """
    if llm.endpoint.offline:
        msg = "the engine vllm has no Batch API"
        raise ServiceError(msg, f"unset {llm.settings.llm_setting('batch')}: this engine always works in batches")
    store = _store(llm)
    with lock_of(LLM_BATCH, llm.settings.home), _clear_error(llm, "submit a batch"):
        llm.know()
        pending = [batch for batch in store.batches() if not batch.ended]
        # One whose process stopped while sending is sent first.
        pending = [batch if batch.id else _resume(llm, store, batch) for batch in pending]
        waiting = {item.question: batch.name for batch in pending for item in store.items(batch)}
        distinct = {llm.key(question): question for question in questions}
        still_open = {key: question for key, question in distinct.items() if llm.kept(question) is None}
        names = {waiting[key] for key in still_open if key in waiting}
        new = [question for key, question in still_open.items() if key not in waiting]
        names |= {_create(llm, store, file).name for file in _files(llm, new)}
    return BatchTicket(batches=tuple(sorted(names)))


def collect(llm: LLM, ticket: BatchTicket) -> BatchState:
    """Check batches and store the answers of those that have ended; may be called any number of times.

    Raises:
        InputError: the ticket names an unknown batch.
        ServiceError: the server does not answer.
    """
    store = _store(llm)
    with lock_of(LLM_BATCH, llm.settings.home), _clear_error(llm, "collect a batch"):
        batches = [_look_after(llm, store, store.read(name)) for name in ticket.batches]
    ended = [batch for batch in batches if batch.ended]
    answered = sum(batch.answered for batch in ended)
    return BatchState(
        waiting=sum(batch.size for batch in batches if not batch.ended),
        answered=answered,
        open=sum(batch.size for batch in ended) - answered,
        statuses=Counter(batch.status for batch in batches),
        reasons=sum((Counter(batch.reasons) for batch in ended), Counter()),
        usage=sum((batch.usage for batch in ended), Usage()),
    )


class _File(NamedTuple):
    """The questions of one batch."""

    lines: list[str]
    items: list[BatchItem]
    most: Sum


def _store(llm: LLM) -> BatchStore:
    return BatchStore(llm.cache.root / "batches", llm.endpoint.shown_url)


def _client(llm: LLM) -> OpenAI:
    return llm.endpoint.client.with_options(max_retries=RETRIES)


@contextmanager
def _clear_error(llm: LLM, deed: str) -> Iterator[None]:
    import openai

    try:
        yield
    except (openai.OpenAIError, NoReplyError) as error:
        why = llm.endpoint.secrets.hide(first_line(error))
        msg = f"cannot {deed} at {llm.endpoint.shown_url} ({why})"
        hint = "try again later, or without a batch: few servers other than OpenAI's have a Batch API"
        raise ServiceError(msg, hint) from None


def _files(llm: LLM, questions: Sequence[Question]) -> Iterator[_File]:
    form = llm.know().form
    lines: list[str] = []
    items: list[BatchItem] = []
    tokens, cost, size = 0, 0.0, 0
    for question in questions:
        content = llm.content(question)
        item = BatchItem(
            key=answer_key(content, llm.settings),
            question=llm.key(question),
            form=form,
            json_schema=question.json_schema,
        )
        line = json.dumps({"custom_id": item.key, "method": "POST", "url": ENDPOINT, "body": content})
        if lines and (len(lines) == MOST_QUESTIONS or size + len(line) >= MOST_BYTES):
            yield _File(lines, items, Sum(tokens, cost))
            lines, items, tokens, cost, size = [], [], 0, 0.0, 0
        most = llm.endpoint.most(content)
        lines.append(line)
        items.append(item)
        tokens, cost, size = tokens + most.tokens, cost + most.cost * PRICE, size + len(line) + 1
    if lines:
        yield _File(lines, items, Sum(tokens, cost))


def _create(llm: LLM, store: BatchStore, file: _File) -> Batch:
    batch = Batch(
        name=uuid.uuid4().hex,
        server=llm.endpoint.shown_url,
        size=len(file.items),
        account=llm.budget.account,
        most=file.most,
    )
    store.add(batch, file.items, file.lines)
    if not llm.budget.hold(batch.name, file.most):
        store.forget(batch)
        raise llm.budget.error(file.most)
    return _send(llm, store, batch)


def _resume(llm: LLM, store: BatchStore, batch: Batch) -> Batch:
    """Continue a batch that may have been sent; if so, the server knows its name."""
    Budget(llm.settings, batch.account).hold(batch.name, Sum(*batch.most))
    for job in _client(llm).batches.list(limit=100):
        if (job.metadata or {}).get("abcdlink") == batch.name:
            return _sent(store, batch, job)
    return _send(llm, store, batch)


def _send(llm: LLM, store: BatchStore, batch: Batch) -> Batch:
    import openai

    try:
        file = _client(llm).files.create(file=(f"{batch.name}.jsonl", store.lines(batch)), purpose="batch")
        # Sent once: if there is no reply, the server is asked for the name before it is sent again.
        job = llm.endpoint.client.batches.create(
            input_file_id=file.id,
            endpoint=ENDPOINT,
            completion_window=WINDOW,
            metadata={"abcdlink": batch.name},
        )
    except openai.APIStatusError as error:
        if error.status_code < REFUSED_BELOW:  # otherwise it may have been accepted
            store.forget(batch)
            Budget(llm.settings, batch.account).settle(batch.name, Sum(0, 0.0))
        raise
    return _sent(store, batch, job)


def _sent(store: BatchStore, batch: Batch, job: Job) -> Batch:
    batch = batch.model_copy(update={"id": job.id, "status": job.status})
    store.write(batch)
    return batch


def _look_after(llm: LLM, store: BatchStore, batch: Batch) -> Batch:
    if batch.ended:
        return batch
    if not batch.id:
        batch = _resume(llm, store, batch)
    job = _client(llm).batches.retrieve(batch.id)
    found: dict[str, Any] = {"status": job.status}
    if job.status in OVER:
        results = read_results(llm, _client(llm), store.items(batch), job)
        for key, answer in results.answers.items():
            llm.cache.put(key, answer)
        used = results.usage
        Budget(llm.settings, batch.account).settle(
            batch.name, Sum(used.prompt_tokens + used.completion_tokens, used.cost)
        )
        found |= {"ended": True, "answered": len(results.answers), "reasons": results.reasons, "usage": used}
    batch = batch.model_copy(update=found)
    store.write(batch)
    return batch
