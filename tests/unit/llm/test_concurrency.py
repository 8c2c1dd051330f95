"""Questions at the same time: fewer when the server refuses, more again when it answers, and none is paid for twice."""

from __future__ import annotations

import random
import threading
import time

import pytest

from abcdlink.errors import BudgetError
from abcdlink.llm.client import LLM
from abcdlink.llm.records import Outcome
from abcdlink.llm.server import RateLimiter
from tests.helpers.fake_llm import FakeLLM, error, says
from tests.helpers.llm_batch import YES_NO, question


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self):
        self.now, self.slept = 100.0, []

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


def never(seconds):
    pytest.fail(f"slept {seconds} s")


def test_a_refusal_halves_the_limit_and_a_round_of_answers_adds_one():
    limiter = RateLimiter(16)
    for expected in (8, 4, 2, 1, 1):
        limiter.refused(limiter.enter(never), 0)
        limiter.leave()
        assert limiter.allowed == expected
    for _ in range(1 + 2 + 3 + 4):
        limiter.passed()
    assert 4.5 < limiter.allowed <= 5
    for _ in range(300):
        limiter.passed()
    assert limiter.allowed == 16


def test_refusals_of_concurrent_requests_count_once():
    limiter = RateLimiter(16)
    entered = [limiter.enter(never) for _ in range(10)]
    for number in entered:
        limiter.refused(number, 0)
        limiter.leave()
    assert limiter.allowed == 8


def test_nobody_is_let_in_before_the_server_allows_it():
    clock = Clock()
    limiter = RateLimiter(4, clock)
    limiter.refused(limiter.enter(never), 3)
    limiter.leave()
    clock.now += 1
    limiter.enter(clock.sleep)
    assert clock.slept == [2]
    limiter.enter(never)


def test_a_shorter_wait_does_not_cut_a_longer_one_short():
    clock = Clock()
    limiter = RateLimiter(4, clock)
    limiter.refused(limiter.enter(never), 30)
    limiter.refused(0, 1)
    limiter.enter(clock.sleep)
    assert clock.slept == [30]


def test_each_wait_is_slept_once_even_if_sleeping_takes_no_time():
    limiter, slept = RateLimiter(4), []
    limiter.refused(limiter.enter(never), 1000)
    limiter.enter(slept.append)
    assert len(slept) == 1


@pytest.mark.parametrize("status", [429, 503])
def test_a_storm_of_refusals_is_survived(isolated_home, status):
    chance, lock = random.Random(3), threading.Lock()
    refused, allowed = [], []

    def respond(request):
        with lock:
            calm = len(server.questions) > 60
            allowed.append(llm._state.limiter.allowed)
            refuses = not calm and chance.random() < 0.5
        if refuses:
            refused.append(request.prompt)
        return error(status, retry_after="1") if refuses else says(YES_NO)

    with FakeLLM(respond) as server:
        llm = LLM(server.settings(isolated_home, llm_concurrency=16), sleep=lambda seconds: time.sleep(seconds / 100))
        start = time.process_time()
        answers = llm.ask_many([question(str(n)) for n in range(60)])
        busy = time.process_time() - start
    assert all(answer.outcome.answered for answer in answers)
    assert len(server.questions) == 60 + len(refused)
    assert 20 < len(refused) <= 45
    assert min(allowed) <= 2
    assert llm._state.limiter.allowed > 2.5
    assert busy < 10


def test_endless_refusals_are_given_up(isolated_home):
    slept = []
    with FakeLLM(error(429, retry_after="1")) as server:
        llm = LLM(server.settings(isolated_home, llm_concurrency=3), sleep=slept.append)
        answers = llm.ask_many([question(str(n)) for n in range(20)])
    assert not any(answer.outcome.answered for answer in answers)
    assert len(server.questions) <= 3 * 20 + 20, "only the first ones have the full patience"
    assert all(0 < seconds <= 1 for seconds in slept)


def test_clients_of_one_server_share_one_limiter(isolated_home):
    with FakeLLM() as server, FakeLLM() as other:
        limiters = [LLM(each.settings(isolated_home))._state.limiter for each in (server, server, other)]
    assert limiters[0] is limiters[1]
    assert limiters[0] is not limiters[2]


def ask_at_once(llms: list[LLM]) -> list:
    answers, barrier = [None] * len(llms), threading.Barrier(len(llms))

    def work(index):
        barrier.wait(10)
        try:
            answers[index] = llms[index].ask(question("the same"))
        except BudgetError as stopped:
            answers[index] = stopped

    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(llms))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return answers


@pytest.mark.parametrize("own_client", [True, False])
def test_threads_with_the_same_question_pay_once(isolated_home, own_client):
    with FakeLLM(says(YES_NO, delay=0.1)) as server:
        settings = server.settings(isolated_home)
        llms = [LLM(settings) for _ in range(4)] if own_client else [LLM(settings)] * 4
        answers = ask_at_once(llms)
    assert len(server.questions) == 1
    assert sum(not answer.from_cache for answer in answers) == 1
    assert len({answer.raw for answer in answers}) == 1
    paid = [llm.spent["link"].calls for llm in set(llms) if "link" in llm.spent]
    assert paid == [1]
    assert sum(llm.used["link"].calls for llm in set(llms)) == 4


def test_a_failure_reaches_everyone_waiting_and_the_next_caller_asks_again(isolated_home):
    with FakeLLM(lambda _: error(400) if len(server.questions) == 1 else says(YES_NO)) as server:
        settings = server.settings(isolated_home)
        first = ask_at_once([LLM(settings) for _ in range(3)])
        assert LLM(settings).ask(question("the same")).outcome is Outcome.OK
    assert first[0].outcome in (Outcome.FAILED, Outcome.OK)
    assert len(server.questions) == 2


def test_an_error_reaches_everyone_waiting(isolated_home):
    with FakeLLM(says(YES_NO, delay=0.1)) as server:
        answers = ask_at_once([LLM(server.settings(isolated_home, llm_budget_tokens=1)) for _ in range(3)])
    assert all(isinstance(answer, BudgetError) for answer in answers)
    assert server.requests == []


def test_a_too_long_question_is_asked_again_by_another_process(isolated_home):
    from abcdlink.llm import server as server_states

    with FakeLLM(error(400, code="context_length_exceeded"), says(YES_NO)) as server:
        llm = LLM(server.settings(isolated_home))
        assert [llm.ask(question()).outcome for _ in range(3)] == [Outcome.TOO_LONG] * 3
        assert len(server.questions) == 1
        server_states._STATES.clear()
        assert LLM(server.settings(isolated_home)).ask(question()).outcome is Outcome.OK
