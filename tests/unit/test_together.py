"""Concurrent jobs: all are done, and one that fails stops the others."""

from __future__ import annotations

import threading
from contextvars import ContextVar

import pytest

from abcdlink.errors import InputError
from abcdlink.together import StoppedError, side_by_side, stop_if_asked

WHO: ContextVar[str] = ContextVar("who")


def test_all_jobs_run_at_once_in_the_callers_context():
    meeting, seen = threading.Barrier(3, timeout=60), []
    WHO.set("caller")

    def job():
        meeting.wait()  # passes only when all three are here
        seen.append(WHO.get())

    side_by_side([job] * 3)
    assert seen == ["caller"] * 3


@pytest.mark.parametrize("error", [InputError("no", "do"), KeyboardInterrupt()])
def test_an_error_stops_the_others_and_is_raised_once_they_have_ended(error):
    running, ended = threading.Event(), []

    def fails():
        assert running.wait(60)
        raise error

    def goes_on():
        try:
            while True:
                running.set()
                stop_if_asked()
        except StoppedError:
            ended.append(True)
            raise

    with pytest.raises(type(error)):
        side_by_side([goes_on, fails])
    assert ended == [True]
    stop_if_asked()  # nothing is stopped outside
