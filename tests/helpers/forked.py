"""A process that can be killed and has this one's imports: a new Python would need half a second for them."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.context import ForkProcess

FORK = multiprocessing.get_context("fork")


def forked(work: Callable[..., object], *arguments: object) -> ForkProcess:
    """Start work in a separate process; one that a test leaves running ends with this process."""
    process = FORK.Process(target=work, args=arguments, daemon=True)
    process.start()
    return process
