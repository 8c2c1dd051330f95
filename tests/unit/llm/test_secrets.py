"""Only the server sees keys and passwords."""

from __future__ import annotations

import logging
import traceback

import pytest

from abcdlink.errors import ServiceError
from abcdlink.llm.batch import submit
from abcdlink.llm.client import LLM
from abcdlink.llm.estimate import expected_cost
from abcdlink.llm.records import Outcome
from abcdlink.settings import Settings
from tests.helpers.fake_llm import FakeLLM, Response, error, says
from tests.helpers.llm_batch import KEY, YES_NO, dead_port, question

PASSWORD = "a-password-in-an-address"


def everything_told(home, caplog, *objects) -> list[str]:
    """Everything stored, logged, or shown in objects and errors."""
    told = [path.read_bytes().decode(errors="replace") for path in home.rglob("*") if path.is_file()]
    for shown in objects:
        if isinstance(shown, BaseException):
            told += [*traceback.format_exception(shown), repr(shown.__cause__), repr(vars(shown))]
        told += [repr(shown), str(shown)]
    formatter = logging.Formatter()
    return [*told, caplog.text, *(formatter.format(record) for record in caplog.records)]


def echoes(request) -> Response:
    """Send the key back in every way that a careless server might."""
    said = request.headers["authorization"]
    if request.prompt == "text":
        return says(f"{YES_NO} {said}")
    if request.prompt == "refusal":
        return says(None, refusal=said)
    if request.prompt == "too long":
        return error(400, f"maximum context length; you sent {said}", code="context_length_exceeded")
    if request.prompt == "html":
        return Response(200, said.encode(), {"X-Echo": said}, content_type="text/html")
    return Response(int(request.prompt), said.encode(), {"X-Echo": said, "Retry-After": "1"})


def test_the_key_is_sent_and_appears_nowhere(isolated_home, caplog):
    caplog.set_level(logging.DEBUG)
    asked = ["text", "refusal", "too long", "html", "400", "401", "404", "422", "429", "500", "503"]
    with FakeLLM(echoes, key=KEY) as server:
        llm = LLM(server.settings(isolated_home, llm_api_key=KEY), account="run", sleep=lambda _: None)
        llm.check()
        answers = llm.ask_many([question(text) for text in asked])
        expected = expected_cost(llm, [question("new")])
    assert [answer.outcome for answer in answers[:3]] == [Outcome.REPAIRED, Outcome.REFUSED, Outcome.TOO_LONG]
    assert all(answer.outcome is Outcome.FAILED for answer in answers[3:])
    assert "***" in answers[0].raw
    assert all("***" in answer.detail for answer in answers[1:3])
    told = everything_told(isolated_home, caplog, answers, llm.describe(), vars(llm), vars(llm.endpoint), expected)
    assert len(told) > 100, "debugging was on"
    assert not [text for text in told if KEY in text]


def test_a_refused_key_appears_nowhere(isolated_home, caplog):
    caplog.set_level(logging.DEBUG)
    errors = []
    with FakeLLM(key="another") as server:
        llm = LLM(server.settings(isolated_home, llm_api_key=KEY))
        answer = llm.ask(question())
        for act in (llm.check, llm.require_probabilities, lambda: submit(llm, [question()])):
            with pytest.raises(ServiceError) as refused:
                act()
            errors.append(refused.value)
    assert answer.outcome is Outcome.FAILED
    told = everything_told(isolated_home, caplog, answer, *errors)
    assert not [text for text in told if KEY in text]


def test_the_password_in_an_address_appears_nowhere(isolated_home, caplog):
    caplog.set_level(logging.DEBUG)
    errors = []
    for port in (dead_port(), None):
        with FakeLLM() as server:
            server.shows = error(404, "no such model")
            url = server.base_url.replace("//", f"//somebody:{PASSWORD}@")
            url = f"http://somebody:{PASSWORD}@127.0.0.1:{port}/v1" if port else url
            llm = LLM(Settings(_env_file=None, llm_base_url=url, home=isolated_home), sleep=lambda _: None)
            answer = llm.ask(question())
            with pytest.raises(ServiceError) as dead:
                llm.check()
            errors += [dead.value, answer]
    told = everything_told(isolated_home, caplog, *errors, llm.describe())
    assert not [text for text in told if PASSWORD in text]


def test_a_key_among_the_extra_parameters_is_hidden_in_the_manifest(isolated_home):
    extra = f'{{"user": "{KEY}"}}'
    described = LLM(Settings(_env_file=None, home=isolated_home, llm_api_key=KEY, llm_extra=extra)).describe()
    assert described["extra"] == '{"user": "***"}'


def test_short_keys_that_are_words_are_not_masked(isolated_home):
    with FakeLLM(says(f"{YES_NO} unused")) as server:
        assert "unused" in LLM(server.settings(isolated_home, llm_api_key="unused")).ask(question()).raw
