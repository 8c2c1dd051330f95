"""Capabilities of a server: probed once, used, and recorded in the manifest."""

from __future__ import annotations

import json
import os
import time

import pytest

from abcdlink.errors import InputError, ServiceError
from abcdlink.llm import server as server_states
from abcdlink.llm.client import LLM
from abcdlink.llm.records import Form, Outcome
from abcdlink.llm.request import in_words
from tests.helpers.fake_llm import FakeLLM, Response, error, fits, says
from tests.helpers.llm_batch import YES_NO, question

ONLY_OBJECT = ("json_object", "text")
SENTENCE = {"type": "object", "properties": {"sentence": {"type": "string"}}, "required": ["sentence"]}


def forget() -> None:
    """Act as a new process."""
    server_states._STATES.clear()


@pytest.mark.parametrize(
    ("forms", "form"),
    [
        (("json_schema", "json_object", "text"), Form.JSON_SCHEMA),
        (("json_object", "text"), Form.JSON_OBJECT),
        (("text",), Form.TEXT),
    ],
)
def test_the_strictest_supported_form_is_used_and_recorded(isolated_home, forms, form):
    with FakeLLM(says(YES_NO), forms=forms) as server:
        llm = LLM(server.settings(isolated_home))
        answers = [llm.ask(question(text)) for text in "ab"]
    assert [(answer.outcome, answer.form) for answer in answers] == [(Outcome.OK, form)] * 2
    assert {request.form for request in server.questions} == {form}
    assert len(server.questions) == 2, "no question is refused first"
    assert llm.describe()["form"] == form
    assert bool(llm.describe()["remarks"]) == (form is not Form.JSON_SCHEMA)


def test_a_schema_not_given_to_the_server_ends_the_prompt(isolated_home):
    with FakeLLM(says(YES_NO), forms=ONLY_OBJECT) as server:
        LLM(server.settings(isolated_home)).ask(question("Which?"))
        LLM(server.settings(isolated_home)).ask(question("Which?", json_schema=SENTENCE))
    listwise, other = (request.prompt for request in server.questions)
    assert listwise.startswith("Which?\n\nAnswer with one JSON object")
    assert listwise.endswith('{"11": true or false, "4": true or false}')
    assert json.dumps(SENTENCE) in other


def test_a_schema_in_words_keeps_ids_unchanged():
    schema = {"type": "object", "properties": {'é"1': {"type": "boolean"}}, "required": ['é"1']}
    assert '{"é\\"1": true or false}' in in_words(schema)


@pytest.mark.parametrize("answer", ["Yes.", '{"wet": "yes"}', "[true]"])
def test_a_server_that_ignores_a_schema_gets_it_in_words(isolated_home, answer):
    with FakeLLM(says(YES_NO)) as server:
        server.shows = says(answer)
        llm = LLM(server.settings(isolated_home))
        assert llm.ask(question()).form is Form.JSON_OBJECT
    assert "do not follow" in llm.describe()["remarks"][-1]


@pytest.mark.parametrize("shown", [says("", finish="length"), says('{"wet": tr', finish="length"), says(None)])
def test_a_model_that_thinks_too_long_to_show_anything_gets_the_schema(isolated_home, shown):
    with FakeLLM(says(YES_NO)) as server:
        server.shows = shown
        assert LLM(server.settings(isolated_home)).ask(question()).form is Form.JSON_SCHEMA
    assert len(server.probes) == 1


@pytest.mark.parametrize("status", [400, 422])
def test_a_server_that_refuses_without_a_reason_is_asked_for_less_and_less(isolated_home, status):
    def show(request):
        simple = request.form == "json_object" and "logprobs" not in request.body
        return says("{}") if simple else error(status, "Bad request")

    with FakeLLM(says(YES_NO)) as server:
        server.shows = show
        llm = LLM(server.settings(isolated_home))
        assert llm.ask(question()).form is Form.JSON_OBJECT
    assert llm.describe()["probabilities"] is False


def test_a_server_that_refuses_every_probe_is_still_asked_the_real_questions(isolated_home):
    with FakeLLM(says(YES_NO)) as server:
        server.shows = error(400, "Bad request")
        assert LLM(server.settings(isolated_home)).ask(question()).outcome is Outcome.OK


def test_a_server_that_does_not_answer_the_probe_is_not_probed_again(isolated_home):
    with FakeLLM(says(YES_NO)) as server:
        server.shows = error(403, "no access")
        answer = LLM(server.settings(isolated_home)).ask(question())
    assert answer.outcome is Outcome.FAILED
    assert "no access" in answer.detail
    assert server.questions == []


def test_capabilities_are_remembered_for_a_day_by_all_processes(isolated_home):
    with FakeLLM(fits, forms=ONLY_OBJECT) as server:
        server._script = [says(YES_NO)]
        LLM(server.settings(isolated_home)).ask(question("a"))
        tried = len(server.probes)
        forget()
        later = LLM(server.settings(isolated_home))
        assert later.describe()["form"] == Form.JSON_OBJECT
        later.ask(question("b"))
        assert len(server.probes) == tried
        (kept,) = (isolated_home / "cache" / "llm" / "servers").iterdir()
        yesterday = time.time() - 25 * 3600
        os.utime(kept, (yesterday, yesterday))
        forget()
        server.forms = ("json_schema",)
        assert "form" not in LLM(server.settings(isolated_home)).describe()
        assert LLM(server.settings(isolated_home)).ask(question("c")).form is Form.JSON_SCHEMA


def test_a_downgraded_server_is_noticed_at_its_first_refusal(isolated_home):
    with FakeLLM(says(YES_NO)) as server:
        llm = LLM(server.settings(isolated_home))
        llm.ask(question("a"))
        server.forms = ("text",)
        answers = [llm.ask(question(text)) for text in "bc"]
        assert LLM(server.settings(isolated_home)).describe()["form"] == Form.TEXT
    assert [answer.form for answer in answers] == [Form.TEXT] * 2
    assert [request.form for request in server.questions if request.prompt.startswith("b")] == [
        "json_schema",
        "json_object",
        "text",
    ]
    assert [request.form for request in server.questions if request.prompt.startswith("c")] == ["text"]


def test_one_refused_schema_does_not_demote_the_server(isolated_home):
    def respond(request):
        if request.form == "json_schema" and "sentence" in request.schema["properties"]:
            return error(400, "Invalid schema for response_format 'answer': 'minLength' is not permitted.")
        return says('{"sentence": "x"}' if request.form == "json_object" else YES_NO)

    with FakeLLM(respond) as server:
        llm = LLM(server.settings(isolated_home))
        assert llm.ask(question(json_schema=SENTENCE)).form is Form.JSON_OBJECT
        assert llm.ask(question()).form is Form.JSON_SCHEMA
    assert llm.describe()["form"] == Form.JSON_SCHEMA


def test_a_form_required_by_the_settings_is_the_only_one_used(isolated_home):
    with FakeLLM(says(YES_NO), forms=("json_schema",)) as server:
        answer = LLM(server.settings(isolated_home, llm_answers="json_object")).ask(question())
    assert answer.outcome is Outcome.FAILED
    with FakeLLM(says(YES_NO)) as server:
        assert LLM(server.settings(isolated_home, llm_answers="text")).ask(question()).form is Form.TEXT
    assert {request.form for request in server.questions} == {"text"}


def test_a_cached_answer_is_found_whatever_its_form(isolated_home):
    with FakeLLM(says(YES_NO), forms=ONLY_OBJECT) as server:
        LLM(server.settings(isolated_home)).ask(question())
    with FakeLLM() as other:
        answer = LLM(other.settings(isolated_home)).ask(question())
    assert (answer.from_cache, answer.form) == (True, Form.JSON_OBJECT)
    assert other.requests == []


def test_the_older_name_of_the_limit_is_used_if_the_newer_is_refused(isolated_home):
    def needs_old_name(request):
        if "max_completion_tokens" in request.body:
            return error(422, "Extra inputs are not permitted: max_completion_tokens")
        return says(YES_NO, finish="length") if request.body["max_tokens"] == 7 else says(YES_NO)

    with FakeLLM(needs_old_name) as server:
        server.shows = error(422, "max_completion_tokens: not permitted")
        llm = LLM(server.settings(isolated_home))
        assert llm.ask(question("a", max_tokens=7)).outcome is Outcome.OK
        assert llm.ask(question("b", max_tokens=9)).outcome is Outcome.OK
    assert [request.body.get("max_tokens") for request in server.questions] == [None, 7, 28, 9]


def test_threads_wait_for_a_dead_server_together(isolated_home):
    with FakeLLM(says(YES_NO)) as server:
        server.shows = Response(403, b"{}", delay=0.2)
        llm = LLM(server.settings(isolated_home, llm_concurrency=8))
        answers = llm.ask_many([question(str(number)) for number in range(8)])
    assert {answer.outcome for answer in answers} == {Outcome.FAILED}
    assert len(server.probes) < 4


WRITTEN = [
    ('{"11": ', {}),
    ("true", {"true": 0.9, "false": 0.1}),
    (', "4": ', {}),
    ("false", {"false": 0.8, "true": 0.2}),
]
WRITTEN += [("}", {})]


def test_probabilities_are_requested_and_kept_with_the_answer(isolated_home):
    with FakeLLM(says(YES_NO, written=WRITTEN)) as server:
        llm = LLM(server.settings(isolated_home, llm_top_logprobs=5))
        llm.require_probabilities()
        answer = llm.ask(question(probabilities=True))
        assert llm.ask(question(probabilities=True)) == answer.model_copy(update={"from_cache": True})
        assert llm.ask(question()).probabilities == answer.probabilities
    assert answer.probabilities == {"11": pytest.approx(0.9), "4": pytest.approx(0.2)}
    first, plain = server.questions
    assert (first.body["logprobs"], first.body["top_logprobs"]) == (True, 5)
    assert "logprobs" not in plain.body
    assert llm.describe()["probabilities"] is True


@pytest.mark.parametrize("silently", [True, False])
def test_a_server_without_log_probabilities_is_reported_and_asked_without(isolated_home, silently):
    with FakeLLM(says(YES_NO), probabilities=False) as server:
        if silently:
            server.shows = says('{"wet": true}')
        llm = LLM(server.settings(isolated_home))
        with pytest.raises(ServiceError, match="log-probabilities"):
            llm.require_probabilities()
        answer = llm.ask(question(probabilities=True))
        assert llm.ask(question()).from_cache, "it is the same question then"
        assert llm.ask(question(probabilities=True)).from_cache
    assert (answer.outcome, answer.probabilities) == (Outcome.OK, None)
    assert llm.describe()["probabilities"] is False
    assert "logprobs" not in server.questions[0].body


def test_a_dead_server_does_not_count_as_lacking_probabilities(isolated_home):
    with FakeLLM() as server:
        server.shows = error(500, "broken")
        with pytest.raises(ServiceError) as broken:
            LLM(server.settings(isolated_home), sleep=lambda _: None).require_probabilities()
    assert "broken" in broken.value.problem


def test_reasoning_effort_and_extras_reach_the_server(isolated_home):
    extra = '{"top_k": 20, "temperature": null, "chat_template_kwargs": {"enable_thinking": false}}'
    with FakeLLM(says(YES_NO)) as server:
        llm = LLM(server.settings(isolated_home, llm_extra=extra, llm_reasoning_effort="low"))
        llm.ask(question())
        llm.ask(question(max_tokens=40))
    asked, short = server.questions
    assert [each.body["max_completion_tokens"] for each in (asked, short)] == [512, 512 + 40], "thinking needs room"
    assert asked.body["top_k"] == 20
    assert asked.body["chat_template_kwargs"] == {"enable_thinking": False}
    assert asked.body["reasoning_effort"] == "low"
    assert "temperature" not in asked.body
    assert (llm.describe()["extra"], llm.describe()["reasoning_effort"]) == (extra, "low")


@pytest.mark.parametrize("extra", ["{", "[1]", "3", '{"model": "x"}', '{"max_tokens": 3}', '{"response_format": {}}'])
def test_unusable_extras_are_reported_at_once(isolated_home, extra):
    with FakeLLM() as server, pytest.raises(InputError, match="ABCDLINK_LLM_EXTRA"):
        LLM(server.settings(isolated_home, llm_extra=extra))
