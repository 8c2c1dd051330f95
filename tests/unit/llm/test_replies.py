"""Whatever a server replies, a question ends in an answer: nothing is raised, and no question affects another."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from abcdlink.llm.client import LLM
from abcdlink.llm.records import Outcome, Usage
from abcdlink.llm.reply import answer_of, reply_of
from tests.helpers.fake_llm import FakeLLM, Response, error, says
from tests.helpers.llm_batch import SCHEMA, YES_NO, question

COMPLETION = json.loads(says(YES_NO).body)


def reply(**changed):
    return Response(200, json.dumps({**COMPLETION, **changed}).encode())


def choosing(**changed):
    return reply(choices=[{**COMPLETION["choices"][0], **changed}])


def saying(content, **more):
    return choosing(message={"role": "assistant", "content": content, **more})


def within(**said):
    return Response(200, json.dumps({"choices": None, "error": said}).encode())


PARTS = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm {"}]}, {"type": "text", "text": YES_NO}]
BAD_LOGPROBS = [
    {"content": [{"token": "true", "bytes": None, "logprob": float("nan"), "top_logprobs": []}]},
    {"content": [{"token": 5, "logprob": -1}]},
    {"content": [{"token": "true", "bytes": 10**12, "logprob": -1}]},
    {"content": {"token": "true"}},
    ["true"],
    "true",
]

ROWS = [
    # Errors caused by the question, in the words of various servers.
    (error(400, "The response was filtered", code="content_filter"), Outcome.REFUSED, "filtered"),
    (error(400, "Response triggered Azure OpenAI's content management policy."), Outcome.REFUSED, "policy"),
    (error(400, "Output data may contain inappropriate content", "data_inspection_failed"), Outcome.REFUSED, ""),
    (error(403, "Input was flagged by moderation"), Outcome.REFUSED, "moderation"),
    (error(400, "Failed to generate JSON", code="json_validate_failed"), Outcome.INVALID, "JSON"),
    (within(code="content_filter", message="no"), Outcome.REFUSED, ""),
    (within(message="maximum context length is 4096 tokens"), Outcome.TOO_LONG, ""),
    (error(400, "something else"), Outcome.FAILED, "something else"),
    # Contents that are not plain text.
    (saying(PARTS), Outcome.OK, ""),
    (saying([YES_NO]), Outcome.OK, ""),
    (saying([{"text": YES_NO}]), Outcome.OK, ""),
    (saying([{"type": "output_text", "text": {"value": YES_NO}}]), Outcome.OK, ""),
    (saying([{"type": "refusal", "refusal": "I will not."}]), Outcome.REFUSED, "I will not"),
    (saying(json.loads(YES_NO)), Outcome.OK, ""),
    (saying([]), Outcome.INVALID, "empty"),
    (saying(5), Outcome.INVALID, ""),
    (saying(content=True), Outcome.INVALID, ""),
    (saying([None, 3, [[]], {"type": 7}]), Outcome.INVALID, ""),
    (choosing(message=YES_NO), Outcome.OK, ""),
    (choosing(message=7), Outcome.INVALID, ""),
    (choosing(message=None), Outcome.FAILED, "no choices"),
    (saying(YES_NO, refusal={"reason": "policy"}), Outcome.REFUSED, "policy"),
    *((saying(YES_NO, refusal=none), Outcome.OK, "") for none in (None, "", False, 0, [], {})),
    (saying("", reasoning_content=YES_NO), Outcome.INVALID, "reasoning_content"),
    (saying(None, reasoning="so"), Outcome.INVALID, "reasoning parser"),
    (saying(f"[as you asked] {YES_NO}"), Outcome.REPAIRED, ""),
    (saying(f"{YES_NO} [done]"), Outcome.REPAIRED, ""),
    (saying(f"[{YES_NO}]"), Outcome.INVALID, "inside"),
    (saying(f"[1] [{YES_NO}, 2]"), Outcome.INVALID, "inside"),
    (choosing(finish_reason=["stop"]), Outcome.OK, ""),
    (choosing(finish_reason=None), Outcome.OK, ""),
    *((choosing(logprobs=logprobs), Outcome.OK, "") for logprobs in BAD_LOGPROBS),
    # Invalid counts.
    *(
        (reply(usage=usage), Outcome.OK, "")
        for usage in (
            None,
            [],
            "12",
            5,
            {"prompt_tokens": 10**30},
            {"prompt_tokens": -5, "completion_tokens": "7"},
            {"prompt_tokens": True, "completion_tokens": float("nan")},
            {"prompt_tokens": 5, "prompt_tokens_details": [1]},
            {"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 50}},
        )
    ),
    # Bodies that are not completions.
    *((Response(200, body), Outcome.FAILED, "") for body in (b"", b"null", b"[]", b'"x"', b"{}", b"<html>", b"\xff{")),
    (Response(200, b"[" * 100_000), Outcome.FAILED, ""),
    *(
        (reply(choices=choices), Outcome.FAILED, "no choices")
        for choices in (None, [], {}, "x", [None], ["x"], [[]], [{}])
    ),
]


@pytest.fixture(scope="module")
def llm(tmp_path_factory):
    """One server that answers question n with row n of the table."""
    with FakeLLM(lambda request: says(YES_NO) if "good" in request.prompt else ROWS[int(request.prompt)][0]) as server:
        yield LLM(server.settings(tmp_path_factory.mktemp("home")), sleep=lambda _: None)


@pytest.mark.parametrize("row", range(len(ROWS)))
def test_a_reply_of_any_shape_has_its_outcome(llm, row):
    _, outcome, detail = ROWS[row]
    answer = llm.ask(question(str(row), json_schema=SCHEMA))
    assert answer.outcome is outcome, answer.detail
    assert detail in answer.detail
    assert not answer.server_fault
    assert 0 <= answer.usage.cached_tokens <= answer.usage.prompt_tokens < 10**9
    assert answer.usage.calls == 1 or outcome is not Outcome.OK, "a call counts, whatever the server counts"
    again = llm.ask(question(str(row), json_schema=SCHEMA))
    assert (again.outcome, again.from_cache) == (outcome, outcome is not Outcome.FAILED)
    assert llm.ask(question(f"a good one after {row}")).outcome is Outcome.OK


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.just(YES_NO),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["content", "message", "type", "text", "refusal", "logprobs", "token", "bytes", "logprob"])
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(choice=JSON, message=JSON, content=JSON, logprobs=JSON, usage=JSON)
def test_the_only_error_a_reply_raises_is_that_it_holds_no_message(choice, message, content, logprobs, usage):
    said = {"role": "assistant", "content": content}
    for choices in (
        choice,
        [choice],
        [{"message": message, "logprobs": logprobs, "finish_reason": choice}],
        [{"message": said, "logprobs": {"content": [logprobs, content]}}],
    ):
        try:
            read = reply_of({"choices": choices, "usage": usage}, Usage(), str)
        except ValueError as fault:
            assert "no choices" in str(fault)  # noqa: PT017 - the only promise
            continue
        assert isinstance(answer_of(read, SCHEMA, "json_schema").outcome, Outcome)


def test_any_json_from_a_server_ends_in_an_answer(isolated_home):
    @settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
    @given(body=JSON, status=st.sampled_from([200, 200, 400, 404, 422, 500]))
    def check(body, status):
        response[:] = [Response(status, json.dumps(body).encode())]
        number[0] += 1
        assert isinstance(llm.ask(question(f"number {number[0]}")).outcome, Outcome)

    response, number = [says(YES_NO)], [0]
    with FakeLLM(lambda _: response[0]) as server:
        llm = LLM(server.settings(isolated_home), sleep=lambda _: None)
        check()


@pytest.mark.parametrize("code", [429, "429", 503, "rate_limit_exceeded"])
def test_an_error_within_a_reply_is_handled_like_its_status(isolated_home, code):
    with FakeLLM(within(code=code, message="slow down"), says(YES_NO)) as server:
        answer = LLM(server.settings(isolated_home), sleep=lambda _: None).ask(question())
    assert answer.outcome is Outcome.OK
    assert len(server.questions) == 2


def test_a_lasting_error_within_a_reply_is_reported_in_the_servers_words(isolated_home):
    with FakeLLM(within(code=502, message="the upstream model is gone")) as server:
        answer = LLM(server.settings(isolated_home), sleep=lambda _: None).ask(question())
    assert answer.outcome is Outcome.FAILED
    assert "the upstream model is gone" in answer.detail


@pytest.mark.parametrize(("status", "fault"), [(401, True), (402, True), (404, True), (400, False), (422, False)])
def test_an_error_says_whether_it_affects_other_questions(isolated_home, status, fault):
    with FakeLLM(error(status)) as server:
        assert LLM(server.settings(isolated_home)).ask(question()).server_fault is fault


def test_a_server_that_always_fails_is_soon_asked_only_once_per_question(isolated_home):
    with FakeLLM(error(500, "assertion failed")) as server:
        llm = LLM(server.settings(isolated_home, llm_concurrency=1), sleep=lambda _: None)
        answers = [llm.ask(question(str(number))) for number in range(8)]
        sent = len(server.questions)
    assert [answer.server_fault for answer in answers] == [False] * 4 + [True] * 4
    assert sent == 5 * 6 + 3


def test_one_prompt_that_breaks_a_server_does_not_condemn_it_with_any_seed(isolated_home):
    with FakeLLM(error(500)) as server:
        llm = LLM(server.settings(isolated_home, llm_concurrency=1), sleep=lambda _: None)
        assert not any(llm.ask(question(seed=seed)).server_fault for seed in range(8))


def test_a_dripping_reply_stops_at_the_time_limit(isolated_home, dripping_server):
    start = time.monotonic()
    answer = LLM(dripping_server.settings(isolated_home, llm_timeout=0.3)).ask(question())
    assert answer.outcome is Outcome.FAILED
    assert "did not end within 0.3 s" in answer.detail
    assert time.monotonic() - start < 60


@pytest.fixture
def dripping_server():
    with FakeLLM(lambda _: Response(200, b" ", drip=0.05)) as server:
        yield server
