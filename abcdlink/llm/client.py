"""The LLM client: questions in, answers out, each paid for once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from abcdlink.llm.accounting import Ledger
from abcdlink.llm.cache import AnswerCache, content_key
from abcdlink.llm.endpoint import Endpoint, NoReplyError, Reply
from abcdlink.llm.parsing import Parsed, parse
from abcdlink.llm.probabilities import probabilities_of
from abcdlink.llm.records import Answer, Message, Outcome, Question, Usage
from abcdlink.progress import Progress, silent
from abcdlink.settings import Settings, get_settings

TOP_LOGPROBS = 20
"""Alternatives asked for at each token: the most that OpenAI and vLLM give."""
LARGER = 4
"""A truncated answer is asked for again with so many times the limit, once."""

PROBE = Question(
    messages=(Message(role="user", content="Is water wet?"),),
    json_schema={
        "type": "object",
        "properties": {"yes": {"type": "boolean"}},
        "required": ["yes"],
        "additionalProperties": False,
    },
    stage="probe",
    max_tokens=64,
    probabilities=True,
)
"""Shows what a server is able to do."""


class LLM:
    """Asks a model behind any OpenAI-compatible server.

    Every question ends in an :class:`Answer` with its outcome; nothing is raised for a question
    that could not be answered. Final answers are kept under ``HOME/cache/llm``, by content (model,
    parameters, messages, schema) and not by server, so that nothing is paid twice, whatever stops.
    Missing ids are the caller's to ask again for: only it can word the shorter question.

    Args:
        settings: default: those of this process.
        sleep: waits so many seconds between attempts; another one makes tests fast.
    """

    def __init__(self, settings: Settings | None = None, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self.settings = settings or get_settings()
        self._endpoint = Endpoint(self.settings, sleep)
        self._cache = AnswerCache(self.settings.cache_root / "llm")
        self._spent, self._used = Ledger(), Ledger()

    @property
    def spent(self) -> dict[str, Usage]:
        """By stage, what this client has paid: cache hits cost nothing."""
        return self._spent.totals()

    @property
    def used(self) -> dict[str, Usage]:
        """By stage, what the answers it returned have cost, whenever that was paid."""
        return self._used.totals()

    def describe(self) -> dict[str, Any]:
        """Return what the manifest says about the model: name, address, parameters; never the key."""
        return {
            "model": self.settings.llm_model,
            "base_url": self._endpoint.shown_url,
            "embedded": not self.settings.llm_base_url,
            "temperature": self.settings.llm_temperature,
            "top_p": self.settings.llm_top_p,
            "seed": self.settings.llm_seed,
            "max_tokens": self.settings.llm_max_tokens,
        }

    def check(self) -> None:
        """Raise ``ServiceError`` (the address, what is wrong, the mend) when the server cannot be used."""
        self._endpoint.check()

    def ask(self, question: Question) -> Answer:
        """Answer one question, from the cache where it was answered before."""
        request = self._request(question)
        key = content_key(request)
        answer = self._cache.get(key)
        if answer is None:
            answer = self._pay(request, question.json_schema)
            self._spent.add(question.stage, answer.usage)
            self._cache.put(key, answer)
        self._used.add(question.stage, answer.usage)
        return answer

    def ask_many(self, questions: Sequence[Question], progress: Progress = silent) -> list[Answer]:
        """Answer questions in their order, ``settings.llm_concurrency`` at once.

        They are sent in the order given, so neighbours that share a prefix profit from the
        server's prefix cache. The same question twice is asked once.
        """
        keys = [content_key(self._request(question)) for question in questions]
        distinct: dict[str, Question] = {}
        for key, question in zip(keys, questions, strict=True):
            distinct.setdefault(key, question)
        pool = ThreadPoolExecutor(self.settings.llm_concurrency, thread_name_prefix="llm")
        try:
            waiting = {key: pool.submit(self.ask, question) for key, question in distinct.items()}
            done = as_completed(waiting.values())
            for future in progress(done, f"asking {self.settings.llm_model}", total=len(waiting)):
                future.result()
            return [waiting[key].result() for key in keys]
        finally:
            # Where something stops us, what was not sent yet is never sent.
            pool.shutdown(cancel_futures=True)

    def ask_samples(self, questions: Sequence[Question], n: int, progress: Progress = silent) -> list[list[Answer]]:
        """Answer each question ``n`` times, with ``n`` seeds from the question's own one upwards.

        Each sample is a question of its own in the cache; the first one is the question as it stands.
        The samples of one question are sent next to each other.
        """
        every = [question for each in questions for question in self._samples(each, n)]
        answers = self.ask_many(every, progress)
        return [answers[start : start + n] for start in range(0, len(answers), n)]

    def _samples(self, question: Question, n: int) -> list[Question]:
        first = self.settings.llm_seed if question.seed is None else question.seed
        return [question.model_copy(update={"seed": first + number}) for number in range(n)]

    def gives_probabilities(self) -> bool:
        """Tell whether the server gives log-probabilities; asks it a small question when that is not known."""
        return self.ask(PROBE).probabilities is not None

    def _request(self, question: Question) -> dict[str, Any]:
        """Return the body of the chat completion; its content is the key of the cache."""
        settings = self.settings
        wanted = {"logprobs": True, "top_logprobs": TOP_LOGPROBS} if question.probabilities else {}
        return {
            "model": settings.llm_model,
            "messages": [message.model_dump() for message in question.messages],
            "temperature": settings.llm_temperature,
            "top_p": settings.llm_top_p,
            "seed": settings.llm_seed if question.seed is None else question.seed,
            "max_completion_tokens": question.max_tokens or settings.llm_max_tokens,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": question.json_schema, "strict": True},
            },
            **wanted,
        }

    def _pay(self, request: dict[str, Any], schema: dict[str, Any]) -> Answer:
        answer = self._complete(request, schema)
        if answer.outcome is not Outcome.TRUNCATED:
            return answer
        limit = request["max_completion_tokens"] * LARGER
        again = self._complete({**request, "max_completion_tokens": limit}, schema)
        if again.outcome is Outcome.TOO_LONG:  # the question fits, only the larger answer does not
            return answer.model_copy(update={"detail": f"{answer.detail}; no room for a larger answer"})
        return again.model_copy(update={"usage": answer.usage + again.usage})

    def _complete(self, request: dict[str, Any], schema: dict[str, Any]) -> Answer:
        try:
            reply = self._endpoint.complete(request)
        except NoReplyError as error:
            return Answer(outcome=error.outcome, detail=error.detail)
        outcome, value, detail = _judge(reply, schema)
        probabilities = probabilities_of(reply.text, value or {}, reply.tokens)
        return Answer(
            outcome=outcome,
            value=value,
            probabilities=probabilities,
            raw=reply.text,
            detail=detail,
            usage=reply.usage,
        )


def _judge(reply: Reply, schema: dict[str, Any]) -> Parsed:
    if reply.refusal:
        return Parsed(Outcome.REFUSED, detail=f"the model declined: {reply.refusal[:200]}")
    if reply.finish == "content_filter":
        return Parsed(Outcome.REFUSED, detail="the server's content filter stopped the answer")
    if reply.finish == "length":
        return Parsed(Outcome.TRUNCATED, detail="the answer reached its limit of tokens")
    return parse(reply.text, schema)
