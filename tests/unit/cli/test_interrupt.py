"""Ctrl-C, and a disk that is full, in the middle of a command."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from abcdlink.cli.app import make_app
from abcdlink.layout import GENERATION
from abcdlink.store import open_run
from tests.helpers.fake_llm import MODEL, FakeLLM, Request, Response, by_rule, says

QUESTIONS = 3
UNDER_WAY = 4
"""Most pending questions of a command."""


def test_an_interrupted_command_says_that_work_is_saved_and_exits_with_130(isolated_home: Path) -> None:
    interrupted = threading.Event()

    def held_back(_: Request) -> Response:
        if len(server.questions) >= QUESTIONS:
            interrupted.wait(60)
        return says('{"sentence": "The road stays shut, officials said."}')

    with FakeLLM(held_back) as server:
        environment = {**os.environ, "ABCDLINK_LLM_BASE_URL": server.base_url, "ABCDLINK_LLM_MODEL": MODEL}
        command = [str(Path(sys.executable).with_name("abcdlink")), "generate", "spring"]
        # Background jobs of a shell ignore Ctrl-C, and so do their children.
        listens = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
        with subprocess.Popen(
            command,
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=listens,  # noqa: PLW1509 - nothing but this
        ) as process:
            while len(server.questions) < QUESTIONS:
                assert process.poll() is None
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            interrupted.set()
            said = process.communicate()[1]
    assert process.returncode == 130
    assert "Completed work is saved" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("moment", [1, 9])
def test_a_full_disk_is_one_error_and_no_answer_is_paid_for_twice(
    isolated_home: Path, moment: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a question on, no file of the command can grow (the kernel's limit): databases, answers, results."""

    def asked(request: Request) -> Response:
        if len(server.questions) == moment:
            _, most = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, most))
        return by_rule(request)

    with FakeLLM(asked) as server:
        server.use(monkeypatch)
        arguments = ["generate", "spring", "--documents", "3"]
        command = [str(Path(sys.executable).with_name("abcdlink")), *arguments]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            said = process.communicate()[1]
        assert process.returncode in {1, 2}, said
        assert "Traceback" not in said
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
