"""A run never exceeds its budget, whoever spends: threads, stages, other processes."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from abcdlink.errors import BudgetError, InputError
from abcdlink.llm.budget import Budget, Sum
from abcdlink.llm.client import LLM
from abcdlink.llm.records import Usage
from abcdlink.settings import Settings
from tests.helpers.fake_llm import FakeLLM, Response, hangs_up, says
from tests.helpers.llm_batch import YES_NO, question

PRICES = {"llm_price_prompt": 10.0, "llm_price_completion": 100.0}
USED = 110
"""Tokens of one answer of the fake server: 100 + 10."""


def ask_until_stopped(llm: LLM) -> str:
    with pytest.raises(BudgetError) as stopped:
        llm.ask_many([question(str(number), max_tokens=20) for number in range(30)])
    return str(stopped.value)


def used_by(server: FakeLLM) -> int:
    """What the server counted: 110 tokens for each question, probes included."""
    return USED * (len(server.questions) + len(server.probes))


def budget(home, **limits) -> Budget:
    return Budget(Settings(_env_file=None, home=home, **limits), "run")


@pytest.mark.parametrize("concurrency", [1, 8])
def test_a_run_stops_before_exceeding_its_tokens_and_resumes_with_more(isolated_home, concurrency):
    with FakeLLM(says(YES_NO)) as server:
        settings = server.settings(isolated_home, llm_concurrency=concurrency, llm_budget_tokens=2000)
        said = ask_until_stopped(LLM(settings, account="run"))
        most = LLM(settings).endpoint.most(LLM(settings).content(question(max_tokens=20))).tokens
        assert 2000 - most - 2 * USED < used_by(server) <= 2000, "all that the limit allows is used"
        first = len(server.questions)
        more = LLM(server.settings(isolated_home, llm_budget_tokens=30_000), account="run")
        answers = more.ask_many([question(str(number), max_tokens=20) for number in range(30)])
    assert all(answer.outcome.answered for answer in answers)
    assert sum(answer.from_cache for answer in answers) == first
    assert len(server.questions) == 30
    assert "of 2000 tokens used" in said
    assert "ABCDLINK_LLM_BUDGET_TOKENS" in said


def test_a_run_stops_before_exceeding_its_money(isolated_home):
    limit = 0.04
    with FakeLLM(says(YES_NO)) as server:
        llm = LLM(server.settings(isolated_home, llm_budget=limit, **PRICES))
        said = ask_until_stopped(llm)
    cost = (100 * 10 + 10 * 100) / 1e6
    spent = sum(llm.spent.values(), Usage())
    assert spent.calls == len(server.questions) + len(server.probes)
    assert spent.cost == pytest.approx(cost * spent.calls)
    assert 0.85 * limit < spent.cost <= limit
    assert f"of {limit} spent" in said
    assert "ABCDLINK_LLM_BUDGET" in said


def test_cached_answers_cost_nothing(isolated_home):
    with FakeLLM(says(YES_NO)) as server:
        LLM(server.settings(isolated_home)).ask_many([question(text) for text in "abc"])
        poor = LLM(server.settings(isolated_home, llm_budget_tokens=1))
        assert all(answer.from_cache for answer in poor.ask_many([question(text) for text in "abc"]))
        with pytest.raises(BudgetError):
            poor.ask(question("d"))
    assert len(server.questions) == 3


def test_the_stages_of_a_run_share_its_budget_and_other_runs_have_their_own(isolated_home):
    with FakeLLM(says(YES_NO)) as server:
        settings = server.settings(isolated_home, llm_budget_tokens=1500)
        ask_until_stopped(LLM(settings, account="run"))
        for account, is_left in (("run", False), ("other", True), ("", True)):
            llm = LLM(settings, account=account)
            if is_left:
                llm.ask(question(f"for {account}", max_tokens=20))
            else:
                with pytest.raises(BudgetError):
                    llm.ask(question(f"for {account}", max_tokens=20))


def test_spending_before_there_was_a_limit_counts(isolated_home):
    with FakeLLM(says(YES_NO)) as server:
        LLM(server.settings(isolated_home), account="run").ask_many([question(text) for text in "abcde"])
        with pytest.raises(BudgetError):
            LLM(server.settings(isolated_home, llm_budget_tokens=600), account="run").ask(question("f"))


def test_a_limit_in_money_needs_prices(isolated_home):
    with pytest.raises(InputError, match="ABCDLINK_LLM_PRICE_PROMPT"):
        LLM(Settings(_env_file=None, home=isolated_home, llm_budget=1.0))


@pytest.mark.parametrize(
    ("script", "timeout", "charged"),
    [
        ((says(YES_NO),), 10, "used"),
        ((hangs_up(), says(YES_NO)), 10, "used"),
        ((Response(500), says(YES_NO)), 10, "used"),
        ((says(YES_NO, delay=0.9), says(YES_NO)), 0.4, "most and used"),
        ((Response(200, json.dumps({**json.loads(says(YES_NO).body), "usage": None}).encode()),), 10, "most"),
    ],
)
def test_uncounted_tokens_are_charged_at_the_maximum(isolated_home, script, timeout, charged):
    with FakeLLM(*script) as server:
        llm = LLM(server.settings(isolated_home, llm_timeout=timeout), account="run", sleep=lambda _: None)
        llm.ask(question("first"))
        most = llm.endpoint.most(llm.content(question("first"))).tokens
    spent, held = llm.budget.sums()
    assert spent.tokens - USED == {"used": USED, "most": most, "most and used": most + USED}[charged]
    assert held == (0, 0)


def test_pending_calls_of_a_killed_process_stay_reserved(isolated_home):
    assert budget(isolated_home).hold("its call", Sum(900, 0.0))
    assert not budget(isolated_home, llm_budget_tokens=1000).hold("ours", Sum(200, 0.0))
    budget(isolated_home).settle("its call", Sum(100, 0.0))
    assert budget(isolated_home, llm_budget_tokens=1000).hold("ours", Sum(200, 0.0))


def test_settling_twice_books_once(isolated_home):
    ours = budget(isolated_home)
    ours.hold("call", Sum(10, 1.0))
    for _ in range(2):
        ours.settle("call", Sum(7, 0.5))
    assert ours.sums() == (Sum(7, 0.5), Sum(0, 0.0))


def test_processes_spending_at_once_stay_within_the_limit_together(isolated_home):
    booked, stopped = [], []

    def spend():
        own = budget(isolated_home, llm_budget_tokens=500)
        try:
            while True:
                with own.call(Sum(20, 0.0)) as hold:
                    hold.used = Sum(15, 0.0)
                booked.append(15)
        except BudgetError as error:
            stopped.append(error)

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(stopped) == 4
    assert budget(isolated_home).sums()[0].tokens == sum(booked)
    assert 500 - 4 * 20 < sum(booked) <= 500


def test_a_call_waits_for_pending_ones_rather_than_giving_up(isolated_home):
    own = budget(isolated_home, llm_budget_tokens=100)
    order, first_is_in = [], threading.Event()

    def first():
        with own.call(Sum(80, 0.0)) as hold:
            first_is_in.set()
            waiting.wait(0.2)
            order.append("first")
            hold.used = Sum(10, 0.0)

    waiting = threading.Event()
    thread = threading.Thread(target=first)
    thread.start()
    first_is_in.wait(10)
    with own.call(Sum(80, 0.0)):
        order.append("second")
    thread.join(10)
    assert order == ["first", "second"]


def test_an_answer_that_cannot_be_booked_is_kept_and_stays_reserved(isolated_home, monkeypatch, caplog):
    with FakeLLM(says(YES_NO)) as server:
        llm = LLM(server.settings(isolated_home, llm_budget_tokens=10_000), account="run")
        llm.know()
        with monkeypatch.context() as patch:

            def full(*_: object) -> None:
                msg = "what was spent cannot be booked: database or disk is full"
                raise InputError(msg, "")

            patch.setattr(Budget, "settle", full)
            assert not llm.ask(question("one", max_tokens=20)).from_cache
        assert llm.ask(question("one", max_tokens=20)).from_cache
        assert len(server.questions) == 1
    assert "disk is full" in caplog.text
    assert budget(isolated_home, llm_budget_tokens=10_000).sums()[1].tokens > 0


def test_an_unusable_spending_file_is_one_clear_error(isolated_home):
    isolated_home.mkdir(exist_ok=True)
    (isolated_home / "spending.sqlite").write_bytes(b"not a database" * 100)
    with pytest.raises(InputError, match=r"cannot be recorded in .*spending\.sqlite: file is not a database"):
        budget(isolated_home, llm_budget_tokens=10).sums()


def test_threads_that_open_a_new_account_at_once_wait_for_each_other(isolated_home):
    start = threading.Barrier(3, timeout=30)

    def spend(number: int) -> None:
        account = budget(isolated_home / str(number // 3))
        start.wait()
        with account.call(Sum(10, 0.0)) as hold:
            hold.used = Sum(1, 0.0)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(spend, range(3 * 10)))
    assert [budget(isolated_home / str(n)).sums()[0].tokens for n in range(10)] == [3] * 10
