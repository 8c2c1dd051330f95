"""``python -m tests.helpers.llm_process PORT LOG``: the tests' LLM as a process that can be killed.

It appends a line to LOG for each question: the hash of the whole question.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
from pathlib import Path

from tests.helpers.fake_llm import FakeLLM, Request, Response, by_rule

THINKS = 0.1
"""Seconds for an answer, so that a kill hits pending questions."""


def main(port: int, log: Path) -> None:
    """Serve until the process is ended."""
    file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def note_and_answer(request: Request) -> Response:
        question = json.dumps(request.body, sort_keys=True).encode()
        os.write(file, f"{hashlib.sha256(question).hexdigest()}\n".encode())
        said = by_rule(request)
        return Response(said.status, said.body, delay=THINKS)

    with FakeLLM(note_and_answer, port=port):
        signal.pause()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
