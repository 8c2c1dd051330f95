"""A process that can be killed, with all that this one has imported: a new Python takes half a second for that."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.context import ForkProcess

FORK = multiprocessing.get_context("fork")


def forked(work: Callable[..., object], *arguments: object) -> ForkProcess:
    """Start work in a process of its own; one that a test leaves running is ended with this process."""
    process = FORK.Process(target=work, args=arguments, daemon=True)
    process.start()
    return process
