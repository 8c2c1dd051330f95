"""Ctrl-C in the middle of a command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

from tests.helpers.fake_llm import MODEL, FakeLLM, Request, Response, says

QUESTIONS = 3


def test_an_interrupted_command_says_that_work_is_kept_and_exits_with_130(isolated_home: Path) -> None:
    interrupted = threading.Event()

    def held_back(_: Request) -> Response:
        if len(server.questions) >= QUESTIONS:
            interrupted.wait(60)
        return says('{"sentence": "The road stays shut, officials said."}')

    with FakeLLM(held_back) as server:
        environment = {**os.environ, "ABCDLINK_LLM_BASE_URL": server.base_url, "ABCDLINK_LLM_MODEL": MODEL}
        command = [str(Path(sys.executable).with_name("abcdlink")), "generate", "spring"]
        # What a shell starts in the background ignores Ctrl-C, and so do its children.
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
