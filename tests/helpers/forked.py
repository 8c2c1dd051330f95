"""A process that can be killed and has this one's imports: a new Python would need half a second for them."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from multiprocessing.context import ForkProcess
from typing import TextIO

FORK = multiprocessing.get_context("fork")


def forked(work: Callable[..., object], *arguments: object) -> ForkProcess:
    """Start work in a separate process; one that a test leaves running ends with this process."""
    process = FORK.Process(target=work, args=arguments, daemon=True)
    process.start()
    return process


def forked_command(*arguments: str) -> tuple[ForkProcess, TextIO]:
    """Start a command as the shell would, but forked; also returns a reader of its stderr."""
    reads, writes = os.pipe()

    def call() -> None:
        from abcdlink.cli.app import main

        # Background jobs of a shell ignore Ctrl-C, and so do their children.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.close(reads)
        os.dup2(writes, 2)
        os.close(writes)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8")
        for logger in (logging.root, *map(logging.getLogger, tuple(logging.root.manager.loggerDict))):
            logger.handlers.clear()  # pytest's and Prefect's, which write to files of the test
        sys.argv = ["abcdlink", *arguments]
        main()

    process = forked(call)
    os.close(writes)
    return process, os.fdopen(reads, encoding="utf-8")
