"""Jobs that mostly wait, done side by side in threads: when one ends with an error, all of them stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar, copy_context
from threading import Event

from abcdlink.errors import AbcdlinkError

ENDING = Event()
"""Set by Ctrl-C: calls under way may end, none is tried again."""

_STOP: ContextVar[Event | None] = ContextVar("stop", default=None)


class StoppedError(AbcdlinkError):
    """This job was stopped because another one beside it failed, or the user pressed Ctrl-C."""

    def __init__(self) -> None:
        super().__init__(
            "stopped because another job beside it failed", "run this again: it continues where it stopped"
        )


def side_by_side(jobs: Sequence[Callable[[], None]]) -> None:
    """Do all jobs, each in a thread of its own with the caller's context; a single one is done here.

    The first error, or Ctrl-C, stops the others at their next call of ``stop_if_asked`` and is raised when they ended.
    """
    if len(jobs) == 1:
        jobs[0]()
        return
    from concurrent.futures import ThreadPoolExecutor, as_completed  # which `abcdlink --help` need not load

    stop = Event()
    with ThreadPoolExecutor(max(len(jobs), 1), thread_name_prefix="beside") as pool:
        token = _STOP.set(stop)
        try:
            for future in as_completed([pool.submit(copy_context().run, job) for job in jobs]):
                future.result()
        finally:
            _STOP.reset(token)
            stop.set()


def stop_if_asked() -> None:
    """Raise ``StoppedError`` when the work beside this job has ended with an error, or after Ctrl-C."""
    stop = _STOP.get()
    if ENDING.is_set() or (stop is not None and stop.is_set()):
        raise StoppedError
