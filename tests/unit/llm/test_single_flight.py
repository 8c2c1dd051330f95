"""Simultaneous identical questions are paid for once."""

from __future__ import annotations

import threading

import pytest

from abcdlink.errors import BudgetError
from abcdlink.llm.client import LLM
from abcdlink.llm.records import Outcome
from tests.helpers.fake_llm import FakeLLM, error, says
from tests.helpers.llm_batch import YES_NO, question


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
