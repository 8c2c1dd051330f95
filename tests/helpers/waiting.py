"""Waiting for a condition, never for a fixed time: the speed of the machine must not decide a test."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TypeVar

import pytest

LONG = "ABCDLINK_CHAOS" in os.environ
"""Whether tests with a long form run it (``make chaos``)."""
WAIT = 600.0
"""Seconds until a wait is given up: enough for a busy machine, but a hang is found."""
POLL = 0.2
SLOWEST = 1.0
"""Seconds between two polls, at first and later: each costs the polled servers some work."""

T = TypeVar("T")


def until(look: Callable[[], T], wanted: str, poll: float = POLL) -> T:
    """Poll, ever less often, until the result is true; ``wanted`` names what did not happen."""
    deadline, slowest = time.monotonic() + WAIT, max(poll, min(5 * poll, SLOWEST))
    while not (seen := look()):
        if time.monotonic() > deadline:
            pytest.fail(f"after {WAIT:.0f} s: not {wanted}")
        time.sleep(poll)
        poll = min(1.1 * poll, slowest)
    return seen
