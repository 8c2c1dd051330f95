"""How many requests are under way: fewer when the server refuses, more again when it answers."""

from __future__ import annotations

import random
import threading
import time

import pytest

from abcdlink.llm import LLM
from abcdlink.llm.gate import Gate
from tests.helpers.asking import YES_NO, question
from tests.helpers.fake_llm import FakeLLM, error, says


class Clock:
    """Time that passes by sleeping alone."""

    def __init__(self):
        self.now, self.slept = 100.0, []

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


def never(seconds):
    pytest.fail(f"slept {seconds} s")


def test_a_refusal_halves_what_is_allowed_and_a_round_of_answers_adds_one():
    gate = Gate(16)
    for expected in (8, 4, 2, 1, 1):
        gate.refused(gate.enter(never), 0)
        gate.leave()
        assert gate.allowed == expected
    for _ in range(1 + 2 + 3 + 4):
        gate.passed()
    assert 4.5 < gate.allowed <= 5
    for _ in range(300):
        gate.passed()
    assert gate.allowed == 16


def test_refusals_of_requests_that_were_under_way_together_count_once():
    gate = Gate(16)
    entered = [gate.enter(never) for _ in range(10)]
    for number in entered:
        gate.refused(number, 0)
        gate.leave()
    assert gate.allowed == 8


def test_nobody_is_let_in_until_the_server_wants_it():
    clock = Clock()
    gate = Gate(4, clock)
    gate.refused(gate.enter(never), 3)
    gate.leave()
    clock.now += 1
    gate.enter(clock.sleep)
    assert clock.slept == [2]
    gate.enter(never)


def test_a_shorter_wait_does_not_open_what_a_longer_one_shut():
    clock = Clock()
    gate = Gate(4, clock)
    gate.refused(gate.enter(never), 30)
    gate.refused(0, 1)
    gate.enter(clock.sleep)
    assert clock.slept == [30]


def test_each_shutting_is_slept_for_once_even_if_the_sleep_takes_no_time():
    gate, slept = Gate(4), []
    gate.refused(gate.enter(never), 1000)
    gate.enter(slept.append)
    assert len(slept) == 1


def test_never_more_than_allowed_are_inside():
    gate, lock, inside, most = Gate(3), threading.Lock(), 0, 0

    def work():
        nonlocal inside, most
        gate.enter(never)
        with lock:
            inside += 1
            most = max(most, inside)
        time.sleep(0.002)
        with lock:
            inside -= 1
        gate.leave()

    threads = [threading.Thread(target=work) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert (most, inside) == (3, 0)


@pytest.mark.parametrize("status", [429, 503])
def test_a_storm_of_refusals_is_weathered(isolated_home, status):
    chance, lock = random.Random(3), threading.Lock()
    refused, allowed = [], []

    def respond(request):
        with lock:
            calm = len(server.questions) > 60
            allowed.append(llm._shared.gate.allowed)
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
    assert llm._shared.gate.allowed > 2.5
    assert busy < 10


def test_who_is_refused_for_ever_gives_up(isolated_home):
    slept = []
    with FakeLLM(error(429, retry_after="1")) as server:
        llm = LLM(server.settings(isolated_home, llm_concurrency=3), sleep=slept.append)
        answers = llm.ask_many([question(str(n)) for n in range(20)])
    assert not any(answer.outcome.answered for answer in answers)
    assert len(server.questions) <= 3 * 20 + 20, "only the first ones have the full patience"
    assert all(0 < seconds <= 1 for seconds in slept)


def test_clients_of_one_server_share_one_gate(isolated_home):
    with FakeLLM() as server, FakeLLM() as other:
        gates = [LLM(each.settings(isolated_home))._shared.gate for each in (server, server, other)]
    assert gates[0] is gates[1]
    assert gates[0] is not gates[2]
