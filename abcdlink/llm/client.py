"""The LLM client: questions in, answers out, each paid for once."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from abcdlink.errors import ServiceError
from abcdlink.llm.budget import Budget, Ledger
from abcdlink.llm.capabilities import ABOUT_SCHEMA, Capabilities, Discovery, after_refusal
from abcdlink.llm.endpoint import Endpoint
from abcdlink.llm.errors import REFUSING, NoReplyError
from abcdlink.llm.records import Answer, Form, Outcome, Question, Usage
from abcdlink.llm.reply import answer_of
from abcdlink.llm.request import LIMIT, AnswerCache, Bodies, content_of, extra_of
from abcdlink.llm.vllm import CHUNK, Engine
from abcdlink.progress import Progress, silent
from abcdlink.settings import Settings, get_settings
from abcdlink.together import stop_if_asked

LOG = logging.getLogger(__name__)
LARGER = 4
"""Factor on the limit when a truncated answer is asked for again, once."""


class LLM:
    """Asks a model behind any OpenAI-compatible server.

    Every question ends in an :class:`Answer` with its outcome; nothing is raised for a question
    that could not be answered. Final answers are stored under ``HOME/cache/llm``, by content (model,
    parameters, messages, schema) and profile but not by server, so that nothing is paid twice, whatever fails.
    The caller has to ask again for missing ids: only it can word the shorter question.

    Before the first call, it finds out by a small question what the server can do; the result is
    kept for a day.

    Args:
        settings: default those of this process; see ``abcdlink.llm.profiles`` for a model by name.
        account: the run whose budget is spent; its other stages and processes on this machine
            share it. Without a name, the budget is this object's own.
        sleep: waits some seconds between attempts; tests replace it to be fast.

    Raises:
        InputError: a setting cannot be used.
    """

    def __init__(
        self, settings: Settings | None = None, *, account: str = "", sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.settings = settings or get_settings()
        extra_of(self.settings)
        self.budget = Budget(self.settings, account)
        offline = self.settings.llm_engine == "vllm"
        self.endpoint = Engine(self.settings, self.budget) if offline else Endpoint(self.settings, self.budget, sleep)
        self.cache = AnswerCache(self.settings.cache_root / "llm")
        self._state = self.endpoint.state
        self._spent, self._used = Ledger(), Ledger()
        self._server = Discovery(self.endpoint, self.cache.root / "servers", self._spent)

    @property
    def spent(self) -> dict[str, Usage]:
        """What this client has paid, by stage: cache hits cost nothing."""
        return self._spent.totals()

    @property
    def used(self) -> dict[str, Usage]:
        """What the answers it returned have cost, by stage, whenever that was paid."""
        return self._used.totals()

    def describe(self) -> dict[str, Any]:
        """Return what the manifest says about the model: name, address, parameters; never the key.

        What was found out about the server (``Capabilities``) is part of it, if it was asked in the last day.
        """
        settings, known = self.settings, self._server.known
        found = known.model_dump(mode="json", include={"form", "probabilities", "remarks"}) if known else {}
        return {
            **({"profile": settings.llm_profile} if settings.llm_profile else {}),
            "model": settings.llm_model,
            "base_url": self.endpoint.shown_url,
            "embedded": settings.llm_is_embedded,
            "temperature": settings.llm_temperature,
            "top_p": settings.llm_top_p,
            "seed": settings.llm_seed,
            "max_tokens": settings.llm_max_tokens,
            "reasoning_effort": settings.llm_reasoning_effort,
            "extra": self.endpoint.secrets.hide(settings.llm_extra),
            **found,
        }

    def check(self) -> None:
        """Check that the server works; one that does not list the model gets a small question.

        Raises:
            ServiceError: it does not; names the address, the problem and what to do.
        """
        if self.settings.llm_keyless:
            msg = f"the LLM profile {self.settings.llm_profile!r} has no key: {self.settings.llm_keyless}"
            raise ServiceError(msg, "set it and run this again; other profiles are not affected")
        models = self.endpoint.models()
        if self.settings.llm_model in models or self._server.known:
            return
        try:
            self._server.ask()
        except NoReplyError as error:
            msg = f"{self.endpoint.shown_url} does not serve the model {self.settings.llm_model!r} ({error.detail})"
            listed = ", ".join(models[:20]) or "none listed"
            hint = f"set {self.settings.llm_setting('model')} to one it serves: {listed}"
            raise ServiceError(msg, hint) from None
        url, model = self.endpoint.shown_url, self.settings.llm_model
        LOG.warning("%s does not list the model %r but answers for it", url, model)

    def require_probabilities(self) -> None:
        """Raise ``ServiceError`` if the server gives no log-probabilities; asks it if that is unknown."""
        try:
            known = self.know()
        except NoReplyError as error:
            msg = f"the LLM endpoint does not work: {error.detail}"
            raise ServiceError(msg, "check its log, and run `abcdlink doctor`") from None
        if not known.probabilities:
            msg = f"{self.endpoint.shown_url} gives no log-probabilities ({'; '.join(known.remarks)})"
            raise ServiceError(msg, "score by votes or by the answer alone, or use another server or model")

    def ask(self, question: Question) -> Answer:
        """Answer one question, from the cache if it was answered before.

        Raises:
            BudgetError: it could cost more than the budget leaves.
        """
        bodies, mine = Bodies(question, self.settings), False
        answer = self._kept(bodies)
        if answer is None:
            with self._state.single_flight.of(self._key(bodies)) as (flight, mine):
                if mine:
                    flight.set_result(self._find_answer(bodies))
            answer = flight.result()
        if mine and not answer.from_cache:
            self._spent.add(question.stage, answer.usage)
        elif not mine:
            answer = answer.model_copy(update={"from_cache": True})
        self._used.add(question.stage, answer.usage)
        return answer

    def ask_many(self, questions: Sequence[Question], progress: Progress = silent) -> list[Answer]:
        """Answer questions in their order, at most ``settings.llm_concurrency`` at once.

        They are sent in the given order, so neighbours that share a prefix benefit from the server's prefix cache. The
        same question is asked only once. Raises ``BudgetError`` when they could cost more than the budget leaves; what
        was answered until then is kept.
        """
        keys = [self.key(question) for question in questions]
        distinct = dict(zip(keys, questions, strict=True))
        if isinstance(self.endpoint, Engine):
            self._pay_together(self.endpoint, list(distinct.values()), progress)
        pool = ThreadPoolExecutor(self.settings.llm_concurrency, thread_name_prefix="llm")
        try:
            waiting = {key: pool.submit(self.ask, question) for key, question in distinct.items()}
            done = as_completed(waiting.values())
            for future in progress(done, f"asking {self.settings.llm_model}", total=len(waiting)):
                future.result()
                stop_if_asked()
            return [waiting[key].result() for key in keys]
        finally:
            # After an error, what has not been sent yet is never sent.
            pool.shutdown(cancel_futures=True)

    def ask_samples(self, questions: Sequence[Question], n: int) -> list[list[Answer]]:
        """Answer each question ``n`` times; those of one are sent in a row. Errors as in ``ask_many``."""
        answers = self.ask_many([sample for question in questions for sample in self.samples(question, n)])
        return [answers[start : start + n] for start in range(0, len(answers), n)]

    def samples(self, question: Question, n: int) -> list[Question]:
        """Return ``n`` questions, with seeds from the question's own upwards: the first is the question itself."""
        first = self.settings.llm_seed if question.seed is None else question.seed
        return [question.model_copy(update={"seed": first + number}) for number in range(n)]

    def key(self, question: Question) -> str:
        """Return what identifies a question, whatever its form."""
        return self._key(Bodies(question, self.settings))

    def _key(self, bodies: Bodies) -> str:
        return bodies.key(self._server.forms[0], logprobs=bodies.question.probabilities)

    def kept(self, question: Question) -> Answer | None:
        """Return the answer if it was paid for earlier, whatever its form.

        A question for probabilities is the plain one if the server is known to give none.
        """
        return self._kept(Bodies(question, self.settings))

    def _kept(self, bodies: Bodies) -> Answer | None:
        known = self._state.capabilities
        logprobs = bodies.question.probabilities and (known is None or known.probabilities)
        for form in self._server.forms:
            if (answer := self.cache.get(bodies.key(form, logprobs=logprobs))) is not None:
                return answer
        return self._state.too_long.get(self._key(bodies))

    def content(self, question: Question) -> dict[str, Any]:
        """Return the body with which a question would now be sent, as far as the server is known."""
        known = self._server.known or Capabilities(form=self._server.forms[0])
        logprobs = question.probabilities and known.probabilities
        return content_of(question, self.settings, known.form, logprobs=logprobs)

    def know(self) -> Capabilities:
        """Return what the server can do; errors as in ``Discovery.know``."""
        return self._server.know()

    def _find_answer(self, bodies: Bodies) -> Answer:
        """Return the answer to a question that was not in the cache when this was called."""
        try:
            known = self.know()
        except NoReplyError as error:
            return Answer(outcome=Outcome.FAILED, detail=error.detail, server_fault=error.server_fault)
        # Another thread may have paid in the meantime.
        return self._kept(bodies) or self._pay(bodies, known)

    def _pay_together(self, engine: Engine, questions: Sequence[Question], progress: Progress) -> None:
        """Answer all questions without a stored answer; they go to the engine in the given order, in large batches.

        A question without an answer is asked again separately later, and then says why.
        """
        with engine.state.paying:
            every = [Bodies(question, self.settings) for question in questions]
            still_open = [bodies for bodies in every if not self._kept(bodies)]
            if not still_open:
                return
            try:
                known = self.know()
            except NoReplyError:
                return
            chunks = [still_open[start : start + CHUNK] for start in range(0, len(still_open), CHUNK)]
            for chunk in progress(chunks, f"asking {self.settings.llm_model}, {len(still_open)} questions"):
                contents = [one.content(known.form, logprobs=one.question.probabilities) for one in chunk]
                answers = self._judged(engine, chunk, contents, known.form)
                truncated = [place for place, one in enumerate(answers) if one.outcome is Outcome.TRUNCATED]
                larger = [{**contents[place], LIMIT: contents[place][LIMIT] * LARGER} for place in truncated]
                again = self._judged(engine, [chunk[place] for place in truncated], larger, known.form)
                for place, answer in zip(truncated, again, strict=True):
                    # Otherwise the question is fine; only the larger answer is unavailable.
                    if answer.outcome is not Outcome.TOO_LONG:
                        answers[place] = answer.model_copy(update={"usage": answers[place].usage + answer.usage})
                for one, answer in zip(chunk, answers, strict=True):
                    self._spent.add(one.question.stage, answer.usage)
                    self.cache.put(one.key(known.form, logprobs=one.question.probabilities), answer)

    def _judged(
        self, engine: Engine, asked: Sequence[Bodies], contents: Sequence[dict[str, Any]], form: Form
    ) -> list[Answer]:
        return [
            self._without_reply(bodies, reply)
            if isinstance(reply, NoReplyError)
            else answer_of(reply, bodies.question.json_schema, form)
            for bodies, reply in zip(asked, engine.complete_many(contents), strict=True)
        ]

    def _pay(self, bodies: Bodies, known: Capabilities) -> Answer:
        """Ask the server; if it refuses, ask again in the next weaker form."""
        used, for_all = known, True
        while True:
            logprobs = bodies.question.probabilities and used.probabilities
            content = bodies.content(used.form, logprobs=logprobs)
            try:
                answer = self._answer(content, bodies.question, used)
            except NoReplyError as error:
                if less := after_refusal(used, error, self._server.forms):
                    used, for_all = less, for_all and not ABOUT_SCHEMA.search(error.said)
                    continue
                answer = self._without_reply(bodies, error)
            else:
                if used != known and for_all:
                    self._server.learn(used)
            self.cache.put(bodies.key(used.form, logprobs=logprobs), answer)
            return answer

    def _without_reply(self, bodies: Bodies, error: NoReplyError) -> Answer:
        answer = Answer(outcome=error.outcome, detail=error.detail, server_fault=error.server_fault)
        if answer.outcome is Outcome.TOO_LONG:
            self._state.too_long[self._key(bodies)] = answer.model_copy(update={"from_cache": True})
        return answer

    def _answer(self, content: dict[str, Any], question: Question, used: Capabilities) -> Answer:
        """Return the judged reply; if it is truncated, ask once more with a larger limit."""
        answer = answer_of(self.endpoint.complete(content, used.limit), question.json_schema, used.form)
        if answer.outcome is not Outcome.TRUNCATED:
            return answer
        larger = {**content, LIMIT: content[LIMIT] * LARGER}
        try:
            again = answer_of(self.endpoint.complete(larger, used.limit), question.json_schema, used.form)
        except NoReplyError as error:
            if error.outcome is Outcome.FAILED and error.status not in REFUSING:
                said = {"detail": error.detail, "server_fault": error.server_fault}
                return Answer(outcome=Outcome.FAILED, usage=answer.usage, form=used.form, **said)
            # The question is fine; only the larger answer is unavailable.
            return answer.model_copy(update={"detail": f"{answer.detail}; a larger limit was refused: {error.detail}"})
        return again.model_copy(update={"usage": answer.usage + again.usage})
