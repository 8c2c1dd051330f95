"""The client against a scripted server: outcomes, patience, order, secrets."""

from __future__ import annotations

import json
import logging
import socket
import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from fake_llm import FakeLLM, Response, error, fits, hangs_up, says

from abcdlink.errors import InputError, ServiceError
from abcdlink.llm import LLM, Message, Outcome, Question, Usage
from abcdlink.settings import Settings

SCHEMA = {
    "type": "object",
    "properties": {"11": {"type": "boolean"}, "4": {"type": "boolean"}},
    "required": ["11", "4"],
    "additionalProperties": False,
}
YES_NO = '{"11": true, "4": false}'
KEY = "sk-a-key-that-nobody-may-see"


def question(text="Which ones?", **changed) -> Question:
    values = {"messages": (Message(role="user", content=text),), "json_schema": SCHEMA, "stage": "link"}
    return Question(**{**values, **changed})


class Waits(list):
    """Stands for sleeping: notes the seconds."""

    __call__ = list.append


def ask(server: FakeLLM, home, waits=None, **settings):
    return LLM(server.settings(home, **settings), sleep=Waits() if waits is None else waits).ask(question())


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


@pytest.mark.parametrize(
    ("response", "outcome", "value"),
    [
        (says(YES_NO), Outcome.OK, {"11": True, "4": False}),
        (says(f"hm</think>\n{YES_NO}"), Outcome.REPAIRED, {"11": True, "4": False}),
        (says('{"11": true}'), Outcome.MISSING_IDS, {"11": True}),
        (says('{"11": true, "4": true, "5": true}'), Outcome.INVALID, {"11": True, "4": True}),
        (says("{}{}"), Outcome.INVALID, None),
        (says(""), Outcome.INVALID, None),
        (says(None), Outcome.INVALID, None),
        (says(None, finish="content_filter"), Outcome.REFUSED, None),
        (says("", finish="content_filter"), Outcome.REFUSED, None),
        (says(None, refusal="I cannot judge this."), Outcome.REFUSED, None),
        (says("I'm sorry, I can't do that."), Outcome.REFUSED, None),
    ],
)
def test_an_answer_has_its_outcome_is_kept_raw_and_asked_for_once(isolated_home, response, outcome, value):
    with FakeLLM(response) as server:
        answer = ask(server, isolated_home)
    assert (answer.outcome, answer.value) == (outcome, value)
    assert answer.raw == (json.loads(response.body)["choices"][0]["message"]["content"] or "")
    assert answer.usage.calls == 1
    assert len(server.questions) == 1
    assert bool(answer.detail) == (outcome not in (Outcome.OK, Outcome.REPAIRED))


@pytest.mark.parametrize("cut", [says(YES_NO, finish="length"), says('{"11": true, "4": fal')])
def test_a_truncated_answer_is_asked_for_once_more_with_a_larger_limit(isolated_home, cut):
    with FakeLLM(cut, says(YES_NO)) as server:
        answer = ask(server, isolated_home, llm_max_tokens=100)
    assert answer.outcome is Outcome.OK
    assert [request.body["max_completion_tokens"] for request in server.questions] == [100, 400]
    assert answer.usage.calls == 2
    assert answer.usage.completion_tokens == 20


def test_an_answer_that_stays_truncated_is_not_repaired(isolated_home):
    with FakeLLM(says('{"11": true, "4": fal', finish="length")) as server:
        answer = ask(server, isolated_home)
    assert (answer.outcome, answer.value) == (Outcome.TRUNCATED, None)
    assert answer.raw == '{"11": true, "4": fal'
    assert len(server.questions) == 2


def test_a_larger_answer_that_has_no_room_leaves_the_question_truncated(isolated_home):
    with FakeLLM(says("{", finish="length"), error(400, "This model's maximum context length is 20 tokens")) as server:
        answer = ask(server, isolated_home)
    assert answer.outcome is Outcome.TRUNCATED
    assert answer.usage.calls == 1


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
def test_a_question_longer_than_the_context_is_too_long_and_never_sent_again(isolated_home, refused):
    with FakeLLM(refused) as server:
        assert ask(server, isolated_home).outcome is Outcome.TOO_LONG
        again = ask(server, isolated_home)
    assert again.outcome is Outcome.TOO_LONG
    assert again.from_cache
    assert len(server.questions) == 1


def test_too_many_requests_waits_as_long_as_the_server_says(isolated_home):
    waits = Waits()
    with FakeLLM(error(429, retry_after="7"), error(429, retry_after="0.5"), says(YES_NO)) as server:
        assert ask(server, isolated_home, waits).outcome is Outcome.OK
    assert waits == [7, 0.5]


def test_retry_after_may_be_a_date(isolated_home):
    waits = Waits()
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    with FakeLLM(error(503, retry_after=date), says(YES_NO)) as server:
        assert ask(server, isolated_home, waits).outcome is Outcome.OK
    assert len(waits) == 1
    assert 50 < waits[0] <= 60


def test_a_server_that_wants_hours_of_patience_is_given_up(isolated_home):
    waits = Waits()
    with FakeLLM(error(429, retry_after="7200")) as server:
        assert ask(server, isolated_home, waits).outcome is Outcome.FAILED
    assert waits == []


def test_an_empty_purse_is_no_reason_to_wait(isolated_home):
    with FakeLLM(error(429, "You exceeded your quota", code="insufficient_quota")) as server:
        assert ask(server, isolated_home).outcome is Outcome.FAILED
    assert len(server.questions) == 1


@pytest.mark.parametrize("trouble", [error(429), error(500), error(503, "Loading model"), error(408), hangs_up()])
def test_passing_trouble_is_waited_out_with_longer_and_longer_waits(isolated_home, trouble):
    waits = Waits()
    with FakeLLM(trouble, trouble, trouble, says(YES_NO)) as server:
        assert ask(server, isolated_home, waits).outcome is Outcome.OK
    assert [int(seconds) for seconds in waits] == [1, 2, 4]


@pytest.mark.parametrize("trouble", [error(429), error(502), hangs_up()])
def test_trouble_that_stays_ends_as_failed_after_six_attempts(isolated_home, trouble):
    with FakeLLM(trouble) as server:
        answer = ask(server, isolated_home)
    assert (answer.outcome, answer.value) == (Outcome.FAILED, None)
    assert server.base_url in answer.detail
    assert len(server.questions) == 6


def test_a_server_that_is_too_slow_is_tried_again(isolated_home):
    with FakeLLM(says(YES_NO, delay=0.6), says(YES_NO)) as server:
        answer = ask(server, isolated_home, llm_timeout=0.3)
    assert answer.outcome is Outcome.OK
    assert len(server.questions) == 2


@pytest.mark.parametrize(
    "response",
    [
        error(400, "unknown parameter"),
        error(401),
        error(404),
        Response(200, b"<html>hello</html>", content_type="text/html"),
        Response(200, b"{half"),
        Response(200, b'{"choices": []}'),
    ],
)
def test_what_cannot_pass_fails_at_once(isolated_home, response):
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


def test_half_a_character_from_a_server_can_be_stored(isolated_home):
    with FakeLLM(says(YES_NO + " \ud800")) as server:
        assert ask(server, isolated_home).outcome is Outcome.REPAIRED
        assert ask(server, isolated_home).from_cache


def test_many_answers_come_in_the_order_of_their_questions(isolated_home):
    order = [False, True, True, False, True, False, False, True] * 3

    def respond(request):
        number = int(request.prompt)
        return says(json.dumps({"11": order[number], "4": True}), delay=0.02 * (number % 3))

    with FakeLLM(respond) as server:
        llm = LLM(server.settings(isolated_home, llm_concurrency=5))
        answers = llm.ask_many([question(str(number)) for number in range(len(order))])
    assert [answer.value["11"] for answer in answers] == order
    assert 2 <= server.most_at_once <= 5


def test_neighbours_are_sent_next_to_each_other(isolated_home):
    with FakeLLM(fits) as server:
        LLM(server.settings(isolated_home, llm_concurrency=1)).ask_many([question(str(n)) for n in range(9)])
    assert [request.prompt for request in server.questions] == [str(n) for n in range(9)]


def test_one_question_given_twice_is_asked_once(isolated_home):
    with FakeLLM(fits) as server:
        llm = LLM(server.settings(isolated_home))
        answers = llm.ask_many([question("a"), question("b"), question("a"), question("a", stage="other")])
    assert len(answers) == 4
    assert answers[0] == answers[2] == answers[3]
    assert sorted(request.prompt for request in server.questions) == ["a", "b"]


def test_one_failed_question_does_not_take_the_others_along(isolated_home):
    with FakeLLM(lambda request: error(400) if request.prompt == "b" else says(YES_NO)) as server:
        answers = LLM(server.settings(isolated_home)).ask_many([question(text) for text in "abc"])
    assert [answer.outcome for answer in answers] == [Outcome.OK, Outcome.FAILED, Outcome.OK]


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


def test_what_is_stopped_sends_nothing_more(isolated_home):
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


def test_tokens_and_cost_are_counted_by_stage_and_only_when_paid(isolated_home):
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


def test_a_server_that_counts_nothing_is_still_a_call(isolated_home):
    body = json.loads(says(YES_NO).body)
    del body["usage"]
    with FakeLLM(Response(200, json.dumps(body).encode())) as server:
        usage = ask(server, isolated_home).usage
    assert (usage.calls, usage.prompt_tokens, usage.cost) == (1, 0, 0)


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
    assert len(stored) == 1
    told = [*stored, caplog.text, repr(answers), repr(llm.describe()), repr(vars(llm)), str(refused.value)]
    assert not [text for text in told if KEY in text]
    assert refused.value.__cause__ is None


def test_the_manifest_entry_says_what_was_asked_and_how(isolated_home):
    url = "http://somebody:password@127.0.0.1:1/v1"
    llm = LLM(Settings(_env_file=None, llm_base_url=url, llm_model="big", home=isolated_home))
    described = llm.describe()
    assert (described["model"], described["embedded"]) == ("big", False)
    assert described["base_url"] == "http://127.0.0.1:1/v1"
    assert LLM(Settings(_env_file=None, llm_port=1234)).describe()["base_url"] == "http://127.0.0.1:1234/v1"
    assert LLM(Settings(_env_file=None)).describe()["embedded"]


def test_no_proxy_comes_between_this_machine_and_itself(isolated_home, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with FakeLLM(says(YES_NO)) as server:
        assert ask(server, isolated_home).outcome is Outcome.OK


def dead_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_check_passes_where_the_model_is_served(isolated_home):
    with FakeLLM() as server:
        LLM(server.settings(isolated_home)).check()
    assert len(server.requests) == 1


def test_check_of_a_dead_endpoint_names_the_address_and_the_mend(isolated_home):
    url = f"http://127.0.0.1:{dead_port()}/v1"
    with pytest.raises(ServiceError) as dead:
        LLM(Settings(_env_file=None, llm_base_url=url, home=isolated_home)).check()
    assert url in dead.value.problem
    assert "ABCDLINK_LLM_BASE_URL" in dead.value.mend


def test_check_of_a_dead_embedded_server_says_how_to_start_it(isolated_home):
    port = dead_port()
    with pytest.raises(ServiceError) as dead:
        LLM(Settings(_env_file=None, llm_port=port, home=isolated_home)).check()
    assert f"http://127.0.0.1:{port}/v1" in dead.value.problem
    assert "abcdlink up" in dead.value.mend


def test_check_of_an_unknown_model_lists_those_served(isolated_home):
    with FakeLLM(models=("a", "b")) as server, pytest.raises(ServiceError) as unknown:
        LLM(server.settings(isolated_home)).check()
    assert "'fake-model'" in unknown.value.problem
    assert "a, b" in unknown.value.mend


def test_check_of_a_wrong_key_names_the_setting(isolated_home):
    with FakeLLM(key="right") as server, pytest.raises(ServiceError) as refused:
        LLM(server.settings(isolated_home, llm_api_key=KEY)).check()
    assert "ABCDLINK_LLM_API_KEY" in refused.value.mend


def test_check_of_an_address_without_v1_says_so(isolated_home):
    with FakeLLM() as server, pytest.raises(ServiceError) as wrong:
        LLM(server.settings(isolated_home, llm_base_url=server.base_url + "/elsewhere/x?")).check()
    assert "/v1" in wrong.value.mend


@pytest.mark.parametrize("url", ["localhost:8000/v1", "my server", "http://", "http://[::1", "http://u:pw@h:x/v1"])
def test_an_address_that_is_none_is_said_at_once(isolated_home, url):
    with pytest.raises(InputError) as wrong:
        LLM(Settings(_env_file=None, llm_base_url=url, home=isolated_home))
    assert "ABCDLINK_LLM_BASE_URL" in wrong.value.problem
    assert "pw" not in str(wrong.value)
