"""Ctrl-C, and a disk that is full, in the middle of a command."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import threading
import time
from collections import Counter

import pytest
from typer.testing import CliRunner

from abcdlink.cli.app import make_app
from abcdlink.layout import GENERATION
from abcdlink.store import open_run
from tests.helpers.fake_llm import FakeLLM, Request, Response, by_rule, says
from tests.helpers.forked import forked_command

QUESTIONS = 3
UNDER_WAY = 4
"""Most pending questions of a command."""


def test_an_interrupted_command_says_that_work_is_saved_and_exits_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted = threading.Event()

    def held_back(_: Request) -> Response:
        if len(server.questions) >= QUESTIONS:
            interrupted.wait(60)
        return says('{"sentence": "The road stays shut, officials said."}')

    with FakeLLM(held_back) as server:
        server.use(monkeypatch)
        process, stderr = forked_command("generate", "spring")
        while len(server.questions) < QUESTIONS:
            assert process.is_alive()
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGINT)
        interrupted.set()
        with stderr:
            said = stderr.read()
        process.join()
    assert process.exitcode == 130
    assert "Completed work is saved" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("moment", [1, 9])
def test_a_full_disk_is_one_error_and_no_answer_is_paid_for_twice(moment: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a question on, no file of the command can grow (the kernel's limit): databases, answers, results."""

    def asked(request: Request) -> Response:
        if len(server.questions) == moment:
            _, most = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, most))
        return by_rule(request)

    with FakeLLM(asked) as server:
        server.use(monkeypatch)
        arguments = ["generate", "spring", "--documents", "3"]
        process, stderr = forked_command(*arguments)
        with stderr:
            said = stderr.read()
        process.join()
        assert process.exitcode in {1, 2}, said
        assert "Traceback" not in said, said
        assert re.search(r"cannot (write|be recorded)|full|too large", said), said
        before = len(server.questions)
        moment = -1
        done = CliRunner().invoke(make_app(), arguments)
    assert done.exit_code == 0, done.output
    questions = Counter(json.dumps(request.body, sort_keys=True) for request in server.questions)
    assert before < len(server.questions)
    # Questions answered when nothing could be stored any more.
    assert sum(count - 1 for count in questions.values()) <= UNDER_WAY
    assert open_run("spring").exists(GENERATION)
