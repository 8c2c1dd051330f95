"""The engine vllm, with a program in vLLM's place that records its input; tests/vllm has the real one."""

from __future__ import annotations

import json
import signal
import sys
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from abcdlink.corpus.io import read_corpus, write_corpus_to
from abcdlink.domain import find_domain
from abcdlink.errors import BudgetError, ServiceError
from abcdlink.layout import SYNTHETIC
from abcdlink.linking.records import Approach, ApproachKind, Setup
from abcdlink.llm.client import LLM
from abcdlink.llm.profiles import profile
from abcdlink.llm.records import Outcome
from abcdlink.settings import Settings, get_settings
from abcdlink.stages.decide import read_decisions
from abcdlink.stages.execution import HERE
from abcdlink.stages.rank import rank
from abcdlink.store import open_run
from tests.helpers.forked import forked
from tests.helpers.llm_batch import question
from tests.helpers.waiting import until

# It answers by the schema, all False; a word in the prompt can request something else.
ENGINE = """
import json, os, signal, sys, threading, time
from pathlib import Path
log = Path({log!r})
def note(**what):
    with log.open("a") as file:
        file.write(json.dumps({{"pid": os.getpid(), **what}}) + "\\n")
note(started=sys.argv[1:])
if "broken" in sys.argv:
    sys.exit("RuntimeError: no room on the GPU")
print(json.dumps({{"ready": True}}), flush=True)
for line in sys.stdin:
    job = json.loads(line)
    requests = [json.loads(one) for one in Path(job["requests"]).read_text().splitlines()]
    note(prompts=[request["messages"][-1]["content"] for request in requests])
    replies = []
    for request in requests:
        prompt, limit = request["messages"][-1]["content"], request["max_completion_tokens"]
        schema = request["response_format"]["json_schema"]["schema"]
        text, finish = json.dumps(dict.fromkeys(schema["properties"], False)), "stop"
        if prompt == "dies" and not Path({log!r} + ".died").exists():
            Path({log!r} + ".died").touch()
            os._exit(1)
        if prompt == "cut short" and limit < 1000:
            text, finish = text[:5], "length"
        if prompt == "too long":
            said = "This model's maximum context length is 10 tokens, and 20 of the prompt are more"
            replies.append({{"error": {{"code": 400, "message": said}}}})
            continue
        message = {{"role": "assistant", "content": text}}
        usage = {{"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {{"cached_tokens": 60}}}}
        replies.append({{"choices": [{{"message": message, "finish_reason": finish}}], "usage": usage}})
    Path(job["replies"]).write_text("".join(json.dumps(reply) + "\\n" for reply in replies))
    print(json.dumps({{"replies": job["replies"]}}), flush=True)
"""
NO = {"11": False, "4": False}


class FakeEngine:
    """The program that stands in for Python with vLLM, and its records."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "engine.log"
        program, self.python = folder / "engine.py", folder / "python"
        program.write_text(ENGINE.format(log=str(self.log)))
        self.python.write_text(f'#!/bin/sh\nexec {sys.executable} {program} "$@"\n')
        self.python.chmod(0o755)

    @property
    def notes(self) -> list[dict]:
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    @property
    def starts(self) -> list[list[str]]:
        return [note["started"] for note in self.notes if "started" in note]

    @property
    def batches(self) -> list[list[str]]:
        return [note["prompts"] for note in self.notes if "prompts" in note]

    def settings(self, home: Path, **more) -> Settings:
        values = {"llm_engine": "vllm", "llm_python": str(self.python), "llm_model": "m", "home": home, **more}
        return Settings(_env_file=None, **values)


@pytest.fixture
def engine(tmp_path, monkeypatch):
    from abcdlink.llm import vllm

    monkeypatch.setattr(vllm, "_PROCESS", vllm._Process())
    yield FakeEngine(tmp_path)
    vllm.stop()


def texts(count):
    return [question(f"number {number}") for number in range(count)]


def test_many_questions_are_one_ordered_batch_and_each_is_asked_once(engine, isolated_home):
    llm = LLM(engine.settings(isolated_home))
    answers = llm.ask_many([*texts(5), *texts(3)])
    assert [answer.value for answer in answers] == [NO] * 8
    assert engine.batches == [[f"number {number}" for number in range(5)]]
    assert LLM(engine.settings(isolated_home)).ask_many(texts(7))[6].value == NO
    assert engine.batches[1:] == [["number 5", "number 6"]]
    assert len(engine.starts) == 1
    assert engine.starts[0][-2:] == ["--model", "m"]
    assert llm.spent["link"].calls == 5
    assert llm.spent["link"].cached_tokens == 5 * 60
    assert llm.ask(question("alone")).value == NO


def test_a_serve_file_is_passed_on_and_a_missing_one_is_reported(engine, isolated_home, tmp_path):
    file = tmp_path / "serve.yaml"
    llm = LLM(engine.settings(isolated_home, llm_serve=str(file)))
    with pytest.raises(ServiceError, match="no serve file"):
        llm.check()
    file.write_text("model: big\n")
    llm.check()
    assert llm.ask(question()).outcome is Outcome.OK
    assert engine.starts[0][-2:] == ["--config", str(file)]


def test_a_cut_off_answer_gets_more_room_once_and_an_overlong_question_is_too_long(engine, isolated_home):
    llm = LLM(engine.settings(isolated_home))
    asked = [question("a"), question("cut short"), question("too long")]
    answers = llm.ask_many(asked)
    assert [answer.outcome for answer in answers] == [Outcome.OK, Outcome.OK, Outcome.TOO_LONG]
    assert answers[1].usage.calls == 2
    assert engine.batches == [["a", "cut short", "too long"], ["cut short"]]


def test_an_engine_that_does_not_start_is_tried_once_and_its_error_is_shown(engine, isolated_home):
    llm = LLM(engine.settings(isolated_home, llm_model="broken"))
    answers = llm.ask_many(texts(4))
    assert {answer.outcome for answer in answers} == {Outcome.FAILED}
    assert "no room on the GPU" in answers[0].detail
    assert len(engine.starts) == 1


def test_without_vllm_the_error_says_how_to_install_it(engine, isolated_home):
    llm = LLM(engine.settings(isolated_home, llm_python=str(engine.python.parent / "nowhere")))
    with pytest.raises(ServiceError, match=r"not installed.*make setup-vllm.*ABCDLINK_LLM_PYTHON"):
        llm.check()


def test_a_dead_engine_is_restarted_and_answered_questions_are_not_repeated(engine, isolated_home):
    llm = LLM(engine.settings(isolated_home, llm_concurrency=1))
    llm.ask_many(texts(2))
    answers = llm.ask_many([*texts(2), question("dies")])
    assert [answer.outcome for answer in answers] == [Outcome.OK] * 3, "asked again by itself"
    assert engine.batches == [["number 0", "number 1"], ["dies"], ["dies"]]
    assert len(engine.starts) == 2


def test_the_budget_applies_to_whole_batches(engine, isolated_home):
    llm = LLM(engine.settings(isolated_home, llm_budget_tokens=1500), account="run")
    llm.ask_many(texts(1))
    with pytest.raises(BudgetError):
        llm.ask_many([question("x" * 5000, max_tokens=2000)])
    assert llm.budget.sums()[0].tokens == 110
    assert len(engine.batches) == 1


def test_another_model_replaces_the_first(engine, isolated_home):
    for model in ("one", "other", "one"):
        LLM(engine.settings(isolated_home, llm_model=model)).ask_many(texts(len(engine.notes) + 1))
    assert len(engine.starts) == 3
    running = [note["pid"] for note in engine.notes if psutil.pid_exists(note["pid"])]
    assert len(set(running)) == 1


def test_the_engine_ends_with_a_killed_process(engine, isolated_home):
    def ask_twice_and_wait() -> None:
        llm = LLM(engine.settings(isolated_home))
        llm.ask(question("first"))
        llm.ask(question("last"))
        signal.pause()

    process = forked(ask_twice_and_wait)
    until(lambda: len(engine.batches) == 2, "two batches", poll=0.01)
    pid = engine.notes[0]["pid"]
    assert psutil.pid_exists(pid)
    process.kill()
    process.join()
    until(lambda: has_ended(pid), "the end of the engine", poll=0.01)


def has_ended(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE  # until init looks after it
    except psutil.NoSuchProcess:
        return True


def test_a_stage_sends_one_sorted_batch_and_then_its_follow_ups(engine, isolated_home):
    isolated_home.mkdir(exist_ok=True)
    (isolated_home / "abcdlink.toml").write_text(
        f'[llm.mine]\nengine = "vllm"\nmodel = "m"\npython = "{engine.python}"\n'
    )
    get_settings.cache_clear()
    domain, store = find_domain("news"), open_run("r")
    write_corpus_to(store, SYNTHETIC, read_corpus(domain.sample_folder).first_pairs(6))
    rank(store, SYNTHETIC, "bm25")
    approaches = [
        Approach(kind=ApproachKind.LLM, retriever="bm25", cutoff=3, prompt_mode=4, setup=setup, model="mine")
        for setup in (Setup.LISTWISE, Setup.PAIRWISE)
    ]
    HERE.decide(store, SYNTHETIC, domain, approaches)
    (batch,) = engine.batches
    decided = [read_decisions(store, SYNTHETIC, approach).decisions for approach in approaches]
    assert len(batch) == sum(bool(one.offered) for one in decided[0]) + sum(len(one.offered) for one in decided[1])
    assert {one.outcome for some in decided for one in some} == {Outcome.OK}
    beginnings = [prompt[:200] for prompt in batch]
    changes = sum(one != other for one, other in pairwise(beginnings))
    assert changes + 1 == 2 * 6, "the questions on a pair stand next to each other"
    assert profile("mine").llm_engine == "vllm"
