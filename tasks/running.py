"""How tasks run: what is tried again, progress on the run page, and what Prefect says of errors."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Sized
from typing import Any, TypeVar, cast
from uuid import UUID

from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.client.schemas import TaskRun
from prefect.client.schemas.objects import State
from prefect.exceptions import Pause

from abcdlink.errors import AbcdlinkError, ServiceError

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


def service_failed(task: Any, run: TaskRun, state: State[Any]) -> bool:  # noqa: ANN401, ARG001 - Prefect's signature
    """Retry when a service did not answer; wrong input stays wrong."""
    try:
        state.result(raise_on_failure=True)
    except ServiceError:
        return True
    except Exception:  # noqa: BLE001 - any other error is not worth another try
        return False
    return False


SERVICE_RETRIES: dict[str, Any] = {
    "retries": 3,
    "retry_delay_seconds": [5, 20, 60],
    "retry_condition_fn": service_failed,
}
"""Options of tasks that talk to a service."""


T = TypeVar("T")

SECONDS_BETWEEN_UPDATES = 2.0


def prefect_progress(items: Iterable[T], label: str, total: int | None = None) -> Iterator[T]:
    """Yield the items and keep a progress artifact on the run page up to date."""
    length = total if total is not None else (len(items) if isinstance(items, Sized) else None)
    artifact = cast("UUID", create_progress_artifact(progress=0.0, description=label))
    shown = time.monotonic()
    for done, item in enumerate(items):
        if length and time.monotonic() - shown > SECONDS_BETWEEN_UPDATES:
            shown = time.monotonic()
            update_progress_artifact(
                artifact, progress=100.0 * done / length, description=f"{label}: {done} of {length}"
            )
        yield item
    all_done = f"{label}: {length} of {length}" if length else label
    update_progress_artifact(artifact, progress=100.0, description=all_done)
