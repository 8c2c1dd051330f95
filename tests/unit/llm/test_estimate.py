"""A dry run: what the questions would cost, without asking them."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace

import pytest

from abcdlink.llm import estimate as llm_estimate
from abcdlink.llm.client import LLM
from abcdlink.llm.estimate import expected_cost
from abcdlink.llm.records import Message, Usage
from abcdlink.settings import Settings
from tests.helpers.fake_llm import FakeLLM, Response, error, says
from tests.helpers.llm_batch import YES_NO, question

PRICES = {"llm_price_prompt": 10.0, "llm_price_cached": 1.0, "llm_price_completion": 100.0}


def words(messages) -> int:
    return sum(len(message["content"].split()) for message in messages)


def reply(value) -> Response:
    return Response(200, json.dumps(value).encode())


def like_vllm(request) -> Response:
    assert request.body["model"] == "fake-model"
    return reply({"count": 7 + words(request.body["messages"]), "tokens": [], "max_model_len": 4096})


def like_llama(request) -> Response:
    return reply({"tokens": list(range(len(request.body.get("content", "").split())))})


def template_of_llama(request) -> Response:
    return reply({"prompt": "<s> user " + " ".join(message["content"] for message in request.body["messages"])})


def test_the_tokenizer_of_a_vllm_server_is_used(isolated_home):
    with FakeLLM(says(YES_NO)) as server:
        server.posts = {"/tokenize": like_vllm}
        llm = LLM(server.settings(isolated_home, **PRICES))
        told = expected_cost(
            llm, [question("one two three"), question("four", max_tokens=40), question("four", max_tokens=40)]
        )
    assert (told.questions, told.kept, told.calls) == (2, 0, 2)
    assert told.prompt_tokens == 7 + 3 + 7 + 1
    assert told.completion_tokens == 512 + 40
    assert told.cost == pytest.approx((18 * 10 + 552 * 100) / 1e6)
    assert told.method == "counted by the server's tokenizer"
    assert server.questions + server.probes == []


def test_the_tokenizer_of_a_llama_cpp_server_is_used(isolated_home):
    with FakeLLM(says(YES_NO)) as server:
        server.posts = {"/tokenize": like_llama, "/apply-template": template_of_llama}
        told = expected_cost(LLM(server.settings(isolated_home)), [question("one two three")])
    assert told.prompt_tokens == 5
    assert told.method == "counted by the server's tokenizer"


def test_cached_answers_cost_nothing_and_are_not_counted(isolated_home):
    with FakeLLM(says(YES_NO)) as server:
        server.posts = {"/tokenize": like_vllm}
        llm = LLM(server.settings(isolated_home))
        llm.ask(question("a"))
        told = expected_cost(llm, [question("a"), question("b c")])
        nothing = expected_cost(llm, [question("a")])
    assert (told.kept, told.calls, told.prompt_tokens) == (1, 1, 9)
    assert (nothing.calls, nothing.prompt_tokens, nothing.cost) == (0, 0, 0)
    assert len(server.questions) == 1


@pytest.mark.parametrize("broken", [error(404), error(500), reply([]), reply({"tokens": 3}), Response(200, b"<html>")])
def test_without_a_tokenizer_earlier_counts_of_the_server_are_used(isolated_home, broken):
    with FakeLLM(says(YES_NO, tokens=(1000, 10))) as server:
        server.posts = {"/tokenize": broken}
        llm = LLM(server.settings(isolated_home))
        unknown = expected_cost(llm, [question("x" * 4000)])
        llm.ask(question("y" * 4000))
        measured = expected_cost(llm, [question("y" * 4000), question("x" * 4000)])
    assert measured.prompt_tokens == 1000, "as many as the equally long one"
    assert "as the server counted in 1 kept answers" in measured.method
    assert 1000 <= unknown.prompt_tokens <= 1100
    assert "a quarter of the bytes" in unknown.method


def test_a_dead_server_does_not_prevent_an_estimate(isolated_home):
    told = expected_cost(LLM(Settings(_env_file=None, home=isolated_home, llm_port=9)), [question("x" * 400)])
    assert told.calls == 1
    assert told.prompt_tokens >= 100


def test_only_a_sample_of_very_many_prompts_is_counted(isolated_home, monkeypatch):
    monkeypatch.setattr(llm_estimate, "COUNTED", 10)
    counted = []

    def count(request):
        counted.append(request)
        return reply({"count": 2 * len(request.body["messages"][0]["content"])})

    texts = [str(number).rjust(100 + number, "x") for number in range(95)]
    with FakeLLM(says(YES_NO)) as server:
        server.posts = {"/tokenize": count}
        told = expected_cost(LLM(server.settings(isolated_home)), [question(text) for text in texts])
    assert len(counted) == 10
    assert told.prompt_tokens == pytest.approx(2 * sum(map(len, texts)), rel=0.02)
    assert told.method.startswith("10 of 95 prompts counted")


def test_openais_tokenizer_is_used_if_installed(isolated_home, monkeypatch):
    encoding = SimpleNamespace(encode=lambda text, **_: text.split())

    def encoding_for_model(model):
        if model != "gpt-x":
            raise KeyError(model)
        return encoding

    monkeypatch.setitem(sys.modules, "tiktoken", SimpleNamespace(encoding_for_model=encoding_for_model))
    with FakeLLM(says(YES_NO)) as server:
        known = expected_cost(LLM(server.settings(isolated_home, llm_model="gpt-x")), [question("one two")])
        other = expected_cost(LLM(server.settings(isolated_home)), [question("one two")])
    assert (known.prompt_tokens, known.method) == (3 + 4 + 2, "counted by tiktoken")
    assert "a quarter" in other.method


def test_shared_prefixes_of_neighbours_may_come_from_the_servers_cache(isolated_home):
    def asked(pair: str, source: str):
        messages = (Message(role="system", content="s" * 500), Message(role="user", content=f"{pair * 400} {source}"))
        return question(messages=messages)

    near = [asked("A", "1"), asked("A", "2"), asked("B", "1"), asked("B", "2")]
    apart = [near[0], near[2], near[1], near[3]]
    with FakeLLM(says(YES_NO)) as server:
        llm = LLM(server.settings(isolated_home, **PRICES))
        ordered, shuffled = expected_cost(llm, near), expected_cost(llm, apart)
    assert ordered.prompt_tokens == shuffled.prompt_tokens
    share = (902 + 501 + 902) / (4 * 903)
    assert ordered.shared_tokens / ordered.prompt_tokens == pytest.approx(share, rel=0.01)
    assert shuffled.shared_tokens < ordered.shared_tokens
    saved = ordered.shared_tokens * (10 - 1) / 1e6
    assert ordered.cost - ordered.cost_with_cache == pytest.approx(saved)


def test_the_share_of_cached_prompt_tokens_is_reported():
    assert Usage(prompt_tokens=400, cached_tokens=300).cached_share == 0.75
    assert Usage().cached_share == 0
