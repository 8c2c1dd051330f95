"""The client with a scripted server: outcomes, order, accounting."""

from __future__ import annotations

import json
import threading

import pytest

from abcdlink.llm.client import LLM
from abcdlink.llm.records import Outcome, Usage
from abcdlink.settings import Settings
from tests.helpers.fake_llm import FakeLLM, error, fits, says
from tests.helpers.llm_batch import SCHEMA, YES_NO, ask, question


def test_the_request_carries_the_settings_and_the_schema(isolated_home):
    with FakeLLM(says(YES_NO)) as server:
        llm = LLM(server.settings(isolated_home, llm_temperature=0.3, llm_top_p=0.9, llm_seed=5, llm_max_tokens=99))
        llm.ask(question())
        llm.ask(question(seed=6, max_tokens=7))
    first, second = (request.body for request in server.questions)
    assert first == {
        "model": "fake-model",
        "messages": [{"role": "user", "content": "Which ones?"}],
        "temperature": 0.3,
        "top_p": 0.9,
        "seed": 5,
        "max_completion_tokens": 99,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
        },
    }
    assert (second["seed"], second["max_completion_tokens"]) == (6, 7)


@pytest.mark.parametrize("cut", [says(YES_NO, finish="length"), says('{"11": true, "4": fal')])
def test_a_truncated_answer_is_retried_once_with_a_larger_limit(isolated_home, cut):
    with FakeLLM(cut, says(YES_NO)) as server:
        answer = ask(server, isolated_home, llm_max_tokens=100)
    assert answer.outcome is Outcome.OK
    assert [request.body["max_completion_tokens"] for request in server.questions] == [100, 400]
    assert answer.usage.calls == 2
    assert answer.usage.completion_tokens == 20


@pytest.mark.parametrize(
    "refused",
    [
        error(400, "whatever", code="context_length_exceeded"),
        error(400, "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens"),
        error(400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096."),
        error(400, "The input (5000 tokens) is longer than the model's context length (4096 tokens)."),
        error(400, "request (9031 tokens) exceeds the available context size (4096 tokens), try increasing it"),
        error(422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096."),
        error(400, "prompt is too long: 210000 tokens > 200000 maximum"),
        error(400, "The input token count (5000) exceeds the maximum number of tokens allowed (4096)."),
        error(413, "Request too large"),
        error(500, "exceed_context_size_error"),
    ],
)
def test_a_question_longer_than_the_context_is_too_long_and_never_resent(isolated_home, refused):
    with FakeLLM(refused) as server:
        assert ask(server, isolated_home).outcome is Outcome.TOO_LONG
        again = ask(server, isolated_home)
    assert again.outcome is Outcome.TOO_LONG
    assert again.from_cache
    assert len(server.questions) == 1


def test_half_a_character_from_a_server_can_be_stored(isolated_home):
    with FakeLLM(says(YES_NO + " \ud800")) as server:
        assert ask(server, isolated_home).outcome is Outcome.REPAIRED
        assert ask(server, isolated_home).from_cache


def test_answers_come_in_the_order_of_their_questions(isolated_home):
    order = [False, True, True, False, True, False, False, True] * 3

    def respond(request):
        number = int(request.prompt)
        return says(json.dumps({"11": order[number], "4": True}), delay=0.02 * (number % 3))

    with FakeLLM(respond) as server:
        llm = LLM(server.settings(isolated_home, llm_concurrency=5))
        answers = llm.ask_many([question(str(number)) for number in range(len(order))])
    assert [answer.value["11"] for answer in answers] == order
    assert 2 <= server.most_at_once <= 5


def test_a_repeated_question_is_asked_once(isolated_home):
    with FakeLLM(fits) as server:
        llm = LLM(server.settings(isolated_home))
        answers = llm.ask_many([question("a"), question("b"), question("a"), question("a", stage="other")])
    assert len(answers) == 4
    assert answers[0] == answers[2] == answers[3]
    assert sorted(request.prompt for request in server.questions) == ["a", "b"]


def test_samples_are_separate_questions_next_to_each_other(isolated_home):
    with FakeLLM(lambda request: says(YES_NO, tokens=(request.body["seed"], 1))) as server:
        llm = LLM(server.settings(isolated_home, llm_seed=5, llm_concurrency=1))
        plain = llm.ask(question("a"))
        samples = llm.ask_samples([question("a"), question("b", seed=50)], 3)
        fewer = llm.ask_samples([question("a")], 2)
    assert [[answer.usage.prompt_tokens for answer in each] for each in samples] == [[5, 6, 7], [50, 51, 52]]
    assert samples[0][0] == plain.model_copy(update={"from_cache": True})
    assert [answer.from_cache for answer in fewer[0]] == [True, True]
    assert [request.prompt for request in server.questions] == list("aaabbb")


def test_no_questions_give_no_samples(isolated_home):
    assert LLM(Settings(_env_file=None, home=isolated_home)).ask_samples([], 3) == []


def test_progress_sees_every_answer(isolated_home):
    seen = []

    def progress(items, label, total=None):
        for item in items:
            seen.append((label, total))
            yield item

    with FakeLLM(fits) as server:
        LLM(server.settings(isolated_home)).ask_many([question("a"), question("b")], progress)
        assert LLM(server.settings(isolated_home)).ask_many([]) == []
    assert seen == [("asking fake-model", 2)] * 2


def test_a_stopped_client_sends_nothing_more(isolated_home):
    asked_to_stop = threading.Event()

    def progress(items, label, total=None):
        yield next(iter(items))
        asked_to_stop.set()
        raise KeyboardInterrupt

    with FakeLLM(says(YES_NO, delay=0.05)) as server:
        llm = LLM(server.settings(isolated_home, llm_concurrency=2))
        with pytest.raises(KeyboardInterrupt):
            llm.ask_many([question(str(n)) for n in range(40)], progress)
        sent = len(server.questions)
    assert asked_to_stop.is_set()
    assert sent < 10


def test_tokens_and_cost_are_counted_by_stage_and_only_if_paid(isolated_home):
    prices = {"llm_price_prompt": 10, "llm_price_cached": 1, "llm_price_completion": 100}
    with FakeLLM(says(YES_NO, tokens=(1000, 20), cached=600), says(YES_NO, tokens=(500, 10))) as server:
        settings = server.settings(isolated_home, **prices)
        llm, later = LLM(settings), LLM(settings)
        llm.ask(question("a"))
        llm.ask(question("b", stage="generate"))
        llm.ask(question("a"))
        assert later.ask(question("a")).from_cache
    link, generate = llm.spent["link"], llm.spent["generate"]
    assert link.model_copy(update={"seconds": 0.0}) == Usage(
        calls=1, prompt_tokens=1000, cached_tokens=600, completion_tokens=20, cost=(400 * 10 + 600 + 2000) / 1e6
    )
    assert (generate.cached_tokens, generate.cost) == (0, (500 * 10 + 1000) / 1e6)
    assert link.seconds > 0
    assert llm.used["link"] == link + link
    assert later.spent == {}
    assert later.used == {"link": link}


def test_the_manifest_entry_says_what_was_asked_and_how(isolated_home):
    url = "http://somebody:password@127.0.0.1:1/v1"
    llm = LLM(Settings(_env_file=None, llm_base_url=url, llm_model="big", home=isolated_home))
    described = llm.describe()
    assert (described["model"], described["embedded"]) == ("big", False)
    assert described["base_url"] == "http://127.0.0.1:1/v1"
    assert LLM(Settings(_env_file=None, llm_port=1234)).describe()["base_url"] == "http://127.0.0.1:1234/v1"
    assert LLM(Settings(_env_file=None)).describe()["embedded"]
