"""Keys and passwords are seen by the server alone."""

from __future__ import annotations

import logging

import pytest
from asking import KEY, YES_NO, question
from fake_llm import FakeLLM, error, says

from abcdlink.errors import ServiceError
from abcdlink.llm import LLM, Outcome


def test_the_key_is_sent_and_shows_up_nowhere(isolated_home, caplog):
    caplog.set_level(logging.DEBUG)
    settings = {"llm_api_key": KEY}

    def respond(request):
        if request.prompt == "echo":
            return says(f"{YES_NO} {request.headers['authorization']}")
        return error(400, f"your key {KEY} may not do this")

    with FakeLLM(respond, key=KEY) as server:
        llm = LLM(server.settings(isolated_home, **settings))
        answers = llm.ask_many([question("echo"), question("fail")])
        llm.check()
    with FakeLLM(key="another") as server:
        stranger = LLM(server.settings(isolated_home, **settings))
        answers.append(stranger.ask(question("stranger")))
        with pytest.raises(ServiceError) as refused:
            stranger.check()
    assert [answer.outcome for answer in answers] == [Outcome.REPAIRED, Outcome.FAILED, Outcome.FAILED]
    assert "***" in answers[0].raw
    assert "***" in answers[1].detail
    stored = [path.read_text() for path in isolated_home.rglob("*") if path.is_file()]
    assert len(stored) == 2, "the one answer, and what the server is able to do"
    told = [*stored, caplog.text, repr(answers), repr(llm.describe()), repr(vars(llm)), str(refused.value)]
    assert not [text for text in told if KEY in text]
    assert refused.value.__cause__ is None
