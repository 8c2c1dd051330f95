"""The real embedded server, queried through the client."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

from abcdlink.corpus.records import Document, Sentence
from abcdlink.domain import find_domain
from abcdlink.errors import InputError, ServiceError
from abcdlink.generation import Size, Strategy, generate_pair
from abcdlink.llm.client import LLM
from abcdlink.llm.embedded import find_weights
from abcdlink.llm.estimate import expected_cost
from abcdlink.llm.records import Message, Outcome, Question, Usage
from abcdlink.settings import Settings
from tests.helpers.waiting import WAIT, until

QUOTES = """"We heard a bang," said Capt. J. R. Lindqvist, 58. "And then the lights went out: 'Shame!', he cried."""
BACKSLASHES = 'He wrote C:\\temp\\new, {braces} and [brackets], and a "quoted" word.'
CHINESE = "消防队周一救出了三名矿工，他说：“没事。”"
HINDI = "अग्निशमन दल ने तीन लोगों को बचाया।"
SCHEMA = {
    "type": "object",
    "properties": {"11": {"type": "boolean"}, "4": {"type": "boolean"}},
    "required": ["11", "4"],
    "additionalProperties": False,
}

SIZE = Size(sentences=3, targets=(1, 1), distinct=2)


def question(text: str) -> Question:
    system = Message(role="system", content="Which target sentences say the same as the source sentence? " * 5)
    return Question(messages=(system, Message(role="user", content=text)), json_schema=SCHEMA, stage="link")


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    if find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed (pip install -e '.[embedded]')")
    try:
        find_weights()
    except InputError as error:
        pytest.skip(str(error))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number = probe.getsockname()[1]
    command = [sys.executable, "-m", "abcdlink.llm.embedded", "--port", str(number), "--threads", "1"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    yield number
    process.send_signal(signal.SIGTERM)
    assert process.wait(WAIT) == 0, "SIGTERM is a clean end"


@pytest.fixture
def llm(port: int, tmp_path: Path) -> LLM:
    client = LLM(Settings(_env_file=None, llm_port=port, home=tmp_path))

    def answers() -> bool:
        with suppress(ServiceError):
            client.check()
            return True
        return False

    until(answers, "an embedded LLM that answers")
    return client


def test_it_answers_by_the_schema_and_reuses_the_shared_prefix(llm: LLM) -> None:
    first = llm.ask(question("Source: The cat sat. Targets: 11: A cat was sitting. 4: It rained."))
    second = llm.ask(question("Source: It was wet. Targets: 11: A cat was sitting. 4: It rained."))
    for answer in (first, second):
        assert answer.outcome is Outcome.OK, answer
        assert set(answer.value or {}) == {"11", "4"}
    assert first.usage.prompt_tokens > 60
    assert second.usage.cached_tokens > 40


def test_prompts_are_counted_as_the_server_counts_them(llm: LLM) -> None:
    asked = [question(f"Source: It rained {n} times. Targets: 11: It was wet. 4: It was dry.") for n in range(3)]
    told = expected_cost(llm, asked)
    usage = sum((answer.usage for answer in llm.ask_many(asked)), Usage())
    assert told.prompt_tokens == usage.prompt_tokens
    assert told.shared_tokens > told.prompt_tokens / 2
    assert usage.completion_tokens <= told.completion_tokens


def test_it_gives_probabilities_and_the_client_knows_it(llm: LLM) -> None:
    llm.require_probabilities()
    asked = question("Source: It rained. Targets: 11: It was wet. 4: It was dry.")
    answer = llm.ask(asked.model_copy(update={"probabilities": True}))
    # The tiny model often favours neither word, but the grammar makes it write one.
    assert answer.probabilities is not None
    assert all(0 <= probability <= 1 for probability in answer.probabilities.values())
    assert llm.describe()["form"] == "json_schema"


@pytest.mark.parametrize("form", ["json_object", "text"])
def test_it_can_be_asked_in_words(llm: LLM, form: str) -> None:
    settings = llm.settings.model_copy(update={"llm_answers": form})
    asked = question("Source: It rained. Targets: 11: It was wet. 4: It was dry.")
    assert LLM(settings).ask(asked.model_copy(update={"max_tokens": 24})).form == form


def test_a_question_longer_than_its_context_is_too_long(llm: LLM) -> None:
    assert llm.ask(question("word " * 9000)).outcome is Outcome.TOO_LONG


@pytest.mark.parametrize("text", [QUOTES, BACKSLASHES, CHINESE, HINDI])
def test_generated_sentences_fit_the_grammar_for_any_target(llm: LLM, text: str) -> None:
    target = Document(id="t", sentences=(Sentence(id="0", text=text),))
    llm.settings.llm_temperature = 1.0
    result = generate_pair(target, find_domain("news"), llm, Strategy.SENTENCE, 1, SIZE)
    assert result.usage.calls >= 3
    reasons = [refusal.reason for refusal in (*result.dropped, *filter(None, [result.refusal]))]
    assert not any("HTTP" in reason or "JSON" in reason for reason in reasons), reasons


def test_ids_of_any_characters_can_be_asked_for(llm: LLM) -> None:
    ids = ['s"1', "a\\b", "{x}", "第一", "d'une", "7"]
    schema = {
        "type": "object",
        "properties": {name: {"type": "boolean"} for name in ids},
        "required": ids,
        "additionalProperties": False,
    }
    answer = llm.ask(question("Which?").model_copy(update={"json_schema": schema}))
    assert answer.outcome is Outcome.OK, answer.detail
    assert set(answer.value or {}) == set(ids)
