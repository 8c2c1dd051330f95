"""What Prefect says on run pages and in logs: one clear message for an error that a person can act on, and no noise."""

from __future__ import annotations

import logging

from prefect.exceptions import Pause

from abcdlink.errors import AbcdlinkError

LOGGERS = ("prefect.flow_runs", "prefect.task_runs", "prefect.engine")
"""Where Prefect says that a run failed."""

NOISE = ("Running hook ", "Hook ")
"""Beginnings of messages that tell a coordinator nothing."""


def worth_saying(record: logging.LogRecord) -> bool:
    """Tell whether a log record says something, and take the traceback of what is no fault of the program out of it.

    A suspension is an exception for Prefect: its traceback would look like a fault.
    """
    if record.exc_info and isinstance(record.exc_info[1], AbcdlinkError | Pause):
        record.exc_info = None
    return not record.getMessage().startswith(NOISE)


def say_errors_in_one_line() -> None:
    """Let Prefect log clear errors without tracebacks, in this process."""
    for name in LOGGERS:
        logging.getLogger(name).addFilter(worth_saying)
