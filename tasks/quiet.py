"""Errors that a person can act on, on run pages and in logs: one clear message, no traceback."""

from __future__ import annotations

import logging

from abcdlink.errors import AbcdlinkError

LOGGERS = ("prefect.flow_runs", "prefect.task_runs", "prefect.engine")
"""Where Prefect says that a run failed."""


def without_traceback(record: logging.LogRecord) -> bool:
    """Take the traceback of a clear error out of a log record; every record is let through."""
    if record.exc_info and isinstance(record.exc_info[1], AbcdlinkError):
        record.exc_info = None
    return True


def say_errors_in_one_line() -> None:
    """Let Prefect log clear errors without tracebacks, in this process."""
    for name in LOGGERS:
        logging.getLogger(name).addFilter(without_traceback)
