"""Questions and patience for the tests of the LLM client."""

from __future__ import annotations

import socket

from abcdlink.llm.client import LLM
from abcdlink.llm.records import Message, Question
from tests.helpers.fake_llm import FakeLLM

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
    """Stands in for sleeping: records the seconds."""

    __call__ = list.append


def ask(server: FakeLLM, home, waits=None, **settings):
    return LLM(server.settings(home, **settings), sleep=Waits() if waits is None else waits).ask(question())


def dead_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
