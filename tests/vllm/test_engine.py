"""vLLM's offline engine against its server, on the CPU: the same answers, and the speed of each."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from abcdlink.corpus.io import read_corpus, write_corpus_to
from abcdlink.domain import find_domain
from abcdlink.layout import NATURAL
from abcdlink.linking.records import Approach, ApproachKind, Scoring
from abcdlink.llm import vllm as engine
from abcdlink.llm.client import LLM
from abcdlink.llm.profiles import profile
from abcdlink.llm.records import Answer, Message, Outcome, Question
from abcdlink.settings import get_settings
from abcdlink.stages.decide import questions_left
from abcdlink.stages.rank import rank
from abcdlink.store import open_run
from tests.vllm.server import MODEL, STRUCTURED, VllmServer, cpu_variables, require_environment

pytestmark = pytest.mark.timeout(2400)
DOMAIN = find_domain("news")
PAIRS = 2


@pytest.fixture
def both(isolated_home: Path, monkeypatch: pytest.MonkeyPatch, vllm: VllmServer) -> Iterator[None]:
    """Two profiles with the same weights and options: the server and the engine."""
    require_environment()
    serve = isolated_home / "serve.yaml"
    isolated_home.mkdir()
    options = {
        "model": str(MODEL),
        "enforce-eager": True,
        "max-model-len": 4096,
        "max-num-seqs": 4,
        "block-size": 32,
        "enable-prefix-caching": True,
        "no-enable-chunked-prefill": True,
        "max-num-batched-tokens": 4096,
    }
    serve.write_text(yaml.safe_dump(options) + f"structured-outputs-config: {STRUCTURED}\n")
    (isolated_home / "abcdlink.toml").write_text(f"""
        [llm.server]
        base_url = "{vllm.url}/v1"
        model = "{vllm.model}"
        temperature = 0
        timeout = 600
        [llm.engine]
        engine = "vllm"
        model = "{vllm.model}"
        serve = "{serve}"
        temperature = 0
        """)
    for name, value in cpu_variables(isolated_home).items():
        monkeypatch.setenv(name, value)
    get_settings.cache_clear()
    yield
    engine.stop()


def test_the_engine_answers_as_the_server_does(both: None, capsys: pytest.CaptureFixture[str]) -> None:
    store = open_run("r")
    write_corpus_to(store, NATURAL, read_corpus(DOMAIN.sample_folder).first_pairs(PAIRS))
    rank(store, NATURAL, "bm25")
    made = {"kind": ApproachKind.LLM, "retriever": "bm25", "cutoff": 5, "prompt_mode": 4}
    answers: dict[str, list[Answer]] = {}
    told: list[str] = []
    for name in ("server", "engine"):
        approach = Approach(**made, scoring=Scoring.PROBABILITY, model=name)
        llm = LLM(profile(name))
        llm.check()
        llm.ask(Question(messages=(Message(role="user", content="Hello"),), json_schema={"type": "object"}, stage="s"))
        questions = questions_left(store, NATURAL, DOMAIN, approach)
        started = time.perf_counter()
        answers[name] = llm.ask_many(questions)
        seconds = time.perf_counter() - started
        usage = llm.spent[approach.name]
        told.append(
            f"{name}: {len(questions)} questions in {seconds:.1f} s, {len(questions) / seconds:.2f} per second, "
            f"{usage.cached_tokens / usage.prompt_tokens:.0%} of {usage.prompt_tokens} prompt tokens from the cache"
        )
        assert usage.cached_tokens > usage.prompt_tokens / 2
    with capsys.disabled():
        print("", *told, sep="\n")  # noqa: T201 - a measurement
    assert {answer.outcome for answer in answers["engine"]} == {Outcome.OK}
    assert [answer.value for answer in answers["engine"]] == [answer.value for answer in answers["server"]]
    for one, other in zip(answers["engine"], answers["server"], strict=True):
        assert one.probabilities == pytest.approx(other.probabilities, abs=0.05)


def test_a_question_longer_than_the_context_is_too_long(both: None) -> None:
    question = Question(
        messages=(Message(role="user", content="word " * 5000),), json_schema={"type": "object"}, stage="link"
    )
    assert LLM(profile("engine")).ask(question).outcome is Outcome.TOO_LONG
