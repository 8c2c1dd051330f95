"""Patience: what is waited for, for how long, and how many requests are pending meanwhile."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from abcdlink.llm.client import LLM
from abcdlink.llm.records import Outcome
from tests.helpers.fake_llm import FakeLLM, Response, error, hangs_up, says
from tests.helpers.llm_batch import YES_NO, Waits, ask, question


def test_after_too_many_requests_we_wait_as_long_as_the_server_says(isolated_home):
    waits = Waits()
    with FakeLLM(error(429, retry_after="0.5"), error(429, retry_after="7"), says(YES_NO)) as server:
        assert ask(server, isolated_home, waits).outcome is Outcome.OK
    assert waits == [pytest.approx(0.5, abs=0.1), pytest.approx(7, abs=0.1)]


def test_retry_after_may_be_a_date(isolated_home):
    waits = Waits()
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    with FakeLLM(error(503, retry_after=date), says(YES_NO)) as server:
        assert ask(server, isolated_home, waits).outcome is Outcome.OK
    assert len(waits) == 1
    assert 50 < waits[0] <= 60


def test_a_server_that_asks_for_hours_of_patience_is_given_up(isolated_home):
    waits = Waits()
    with FakeLLM(error(429, retry_after="7200")) as server:
        assert ask(server, isolated_home, waits).outcome is Outcome.FAILED
    assert waits == []


@pytest.mark.parametrize(
    "trouble", [error(429), error(500), error(503, "Loading model"), error(529), error(408), hangs_up()]
)
def test_temporary_errors_are_waited_out_with_growing_waits(isolated_home, trouble):
    waits = Waits()
    with FakeLLM(trouble, trouble, trouble, says(YES_NO)) as server:
        assert ask(server, isolated_home, waits).outcome is Outcome.OK
    assert [int(seconds) for seconds in waits] == [1, 2, 4]


@pytest.mark.parametrize(("trouble", "attempts"), [(error(429), 20), (error(502), 6), (hangs_up(), 6)])
def test_lasting_errors_end_as_failed_after_some_attempts(isolated_home, trouble, attempts):
    with FakeLLM(trouble) as server:
        answer = ask(server, isolated_home)
    assert (answer.outcome, answer.value) == (Outcome.FAILED, None)
    assert server.base_url in answer.detail
    assert len(server.questions) == attempts


@pytest.mark.parametrize(
    "response",
    [
        error(400, "unknown parameter"),
        error(429, "You exceeded your quota", code="insufficient_quota"),
        error(401),
        error(404),
        Response(200, b"<html>hello</html>", content_type="text/html"),
        Response(200, b"{half"),
        Response(200, b'{"choices": []}'),
    ],
)
def test_permanent_errors_fail_at_once(isolated_home, response):
    with FakeLLM(response) as server:
        answer = ask(server, isolated_home)
    assert answer.outcome is Outcome.FAILED
    assert answer.detail
    assert len(server.questions) == 1


def test_a_dead_server_costs_the_full_patience_only_once(isolated_home):
    waits = Waits()
    with FakeLLM(*[hangs_up()] * 8, says(YES_NO)) as server:
        llm = LLM(server.settings(isolated_home), sleep=waits)
        outcomes = [llm.ask(question(f"number {n}")).outcome for n in range(4)]
    assert outcomes == [Outcome.FAILED] * 3 + [Outcome.OK]
    assert len(waits) == 5
