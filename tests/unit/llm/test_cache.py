"""Nothing is paid for twice, and nothing incomplete is kept."""

from __future__ import annotations

import signal
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from abcdlink.llm.client import LLM
from abcdlink.llm.records import Message, Outcome, Question
from abcdlink.llm.request import content_key
from tests.helpers.fake_llm import FakeLLM, error, says
from tests.helpers.forked import FORK, forked
from tests.helpers.waiting import until

SCHEMA = {"type": "object", "properties": {"related": {"type": "boolean"}}, "required": ["related"]}


def question(text="Are they?", **changed) -> Question:
    values = {"messages": (Message(role="user", content=text),), "json_schema": SCHEMA, "stage": "link"}
    return Question(**{**values, **changed})


def cached_files(home: Path) -> list[Path]:
    return sorted((home / "cache" / "llm").glob("??/*.json"))


def ask_many(server: FakeLLM, home: Path, count: int) -> None:
    LLM(server.settings(home, llm_concurrency=2)).ask_many([question(str(n)) for n in range(count)])


def ask_in_pairs(server: FakeLLM, home: Path, told: Connection, stop: int = -1) -> None:
    llm = LLM(server.settings(home, llm_concurrency=2))
    for pair in range(5):
        answers = llm.ask_many([question(f"{pair}-{n}") for n in range(4)])
        told.send([(answer.outcome.value, answer.value) for answer in answers])
        if pair == stop:
            signal.pause()


def test_a_stage_killed_midway_asks_nothing_twice_and_ends_like_an_undisturbed_one(tmp_path):
    def respond(request):
        return says('{"related": true}' if request.prompt.endswith(("1", "2")) else '{"related": false,}')

    with FakeLLM(respond) as server:
        here, there = FORK.Pipe()
        process = forked(ask_in_pairs, server, tmp_path / "killed", there, 2)
        before = [here.recv() for _ in range(3)]
        process.kill()
        process.join()
        assert len(server.questions) == 12
        forked(ask_in_pairs, server, tmp_path / "killed", there).join()
        resumed = [here.recv() for _ in range(5)]
        log = Counter(request.prompt for request in server.requests if request.method == "POST")
        forked(ask_in_pairs, server, tmp_path / "other", there).join()
        undisturbed = [here.recv() for _ in range(5)]
    assert set(log.values()) == {1}, "some question was asked twice"
    assert len(log) == 20 + 1, "the questions, and the small one about the server's capabilities"
    assert resumed == undisturbed
    assert resumed[:3] == before


def test_a_killed_process_pays_again_only_for_pending_calls(isolated_home):
    with FakeLLM(says('{"related": true}', delay=0.03)) as server:
        process = forked(ask_many, server, isolated_home, 50)
        until(lambda: len(server.questions) > 6, "seven questions", poll=0.01)
        process.kill()
        process.join()
        assert 4 <= len(cached_files(isolated_home)) < 50
        answers = LLM(server.settings(isolated_home)).ask_many([question(str(n)) for n in range(50)])
    assert all(answer.value for answer in answers)
    asked = Counter(request.prompt for request in server.questions)
    assert len(asked) == 50
    assert sum(asked.values()) <= 50 + 2, "more was paid again than the two questions under way"


def test_a_truncated_answer_is_kept_if_the_server_refuses_a_larger_limit(isolated_home):
    with FakeLLM(says("{", finish="length"), error(400, "max_tokens is too large: 2048")) as server:
        llm = LLM(server.settings(isolated_home))
        answer = llm.ask(question())
        assert (answer.outcome, answer.raw, answer.usage.calls) == (Outcome.TRUNCATED, "{", 1)
        assert "max_tokens is too large" in answer.detail
        assert llm.ask(question()).from_cache
    assert len(server.questions) == 2


def test_a_truncated_answer_whose_retry_fails_is_counted_and_asked_again_later(isolated_home):
    with FakeLLM(says("{", finish="length"), error(401)) as server:
        llm = LLM(server.settings(isolated_home))
        assert llm.ask(question()).outcome is Outcome.FAILED
    assert llm.spent["link"].calls == 1
    assert cached_files(isolated_home) == []


def test_the_server_and_the_stage_are_not_part_of_the_question(isolated_home):
    with FakeLLM() as server:
        LLM(server.settings(isolated_home, llm_concurrency=1)).ask(question())
    with FakeLLM() as other:
        assert LLM(other.settings(isolated_home, llm_api_key="x", llm_timeout=3)).ask(question(stage="b")).from_cache
    assert other.requests == []


@pytest.mark.parametrize(
    ("asked", "settings"),
    [
        (question("Other?"), {}),
        (question(seed=99), {}),
        (question(max_tokens=9), {}),
        (question(json_schema={**SCHEMA, "additionalProperties": False}), {}),
        (question(messages=(Message(role="system", content="Are they?"),)), {}),
        (question(), {"llm_temperature": 0.9}),
        (question(), {"llm_top_p": 0.5}),
        (question(), {"llm_seed": 1}),
        (question(), {"llm_model": "other"}),
        (question(), {"llm_reasoning_effort": "low"}),
        (question(), {"llm_extra": '{"top_k": 3}'}),
        (question(), {"llm_answers": "text"}),
        (question(probabilities=True), {}),
    ],
)
def test_any_change_to_what_reaches_the_model_makes_another_question(isolated_home, asked, settings):
    with FakeLLM(says('{"related": true}')) as server:
        LLM(server.settings(isolated_home)).ask(question())
        assert not LLM(server.settings(isolated_home, **settings)).ask(asked).from_cache
    assert len(server.questions) == 2


def test_the_order_of_properties_matters_since_the_model_sees_it():
    assert content_key({"a": 1, "b": 2}) != content_key({"b": 2, "a": 1})


def test_a_damaged_file_is_reported_and_its_question_asked_again(isolated_home, caplog):
    with FakeLLM() as server:
        llm = LLM(server.settings(isolated_home))
        llm.ask(question())
        (path,) = cached_files(isolated_home)
        path.write_text('{"outcome": "ok", "val')
        assert not llm.ask(question()).from_cache
        assert llm.ask(question()).from_cache
    assert str(path) in caplog.text
