"""How tasks run (in threads, processes or on a cluster), what is retried, and what run pages show about them."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from functools import partial
from importlib import import_module
from multiprocessing import connection, parent_process
from threading import Thread
from typing import Any, TypeVar, cast
from uuid import UUID

from prefect.artifacts import (
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)
from prefect.client.schemas import TaskRun
from prefect.client.schemas.objects import State
from prefect.exceptions import Pause
from prefect.runtime import flow_run
from prefect.task_runners import ProcessPoolTaskRunner, TaskRunner, ThreadPoolTaskRunner

from abcdlink.errors import AbcdlinkError, InputError, ServiceError
from abcdlink.settings import Settings, get_settings
from abcdlink.store import open_run
from abcdlink.waiting import note_progress

LOGGERS = ("prefect.flow_runs", "prefect.task_runs", "prefect.engine")
"""Loggers with which Prefect reports failed runs."""

NOISE = ("Running hook ", "Hook ")
"""Prefixes of messages that mean nothing to a coordinator."""


def worth_saying(record: logging.LogRecord) -> bool:
    """Tell whether a log record is useful, and drop its traceback if the error is not a bug.

    To Prefect, a suspension is an exception; its traceback would look like a bug.
    """
    if record.exc_info and isinstance(record.exc_info[1], AbcdlinkError | Pause):
        record.exc_info = None
    return not record.getMessage().startswith(NOISE)


def say_errors_in_one_line() -> None:
    """Let Prefect log clear errors without tracebacks in this process."""
    for name in LOGGERS:
        logging.getLogger(name).addFilter(worth_saying)


def service_failed(task: Any, run: TaskRun, state: State[Any]) -> bool:  # noqa: ANN401, ARG001 - Prefect's signature
    """Retry if a service did not answer; wrong input stays wrong."""
    try:
        state.result(raise_on_failure=True)
    except ServiceError:
        return True
    except Exception:  # noqa: BLE001 - no other error is worth a retry
        return False
    return False


SERVICE_RETRIES: dict[str, Any] = {
    "retries": 3,
    "retry_delay_seconds": [5, 20, 60],
    "retry_condition_fn": service_failed,
}
"""Options of tasks that talk to a service."""


def key(*parts: object) -> str:
    """Return an artifact key: Prefect allows only lower-case letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", "-".join(str(part) for part in parts).lower()).strip("-")


def table(name: str, rows: Iterable[dict[str, Any]], description: str) -> None:
    """Show rows as a table."""
    create_table_artifact(key=name, table=list(rows), description=description)


def show_text(name: str, markdown: str, description: str) -> None:
    """Show a text."""
    create_markdown_artifact(key=name, markdown=markdown, description=description)


T = TypeVar("T")

SECONDS_BETWEEN_UPDATES = 2.0


def prefect_progress(items: Iterable[T], label: str, total: int | None = None) -> Iterator[T]:
    """Yield the items and keep a progress artifact on the run page, and *What now*, up to date."""
    length = total if total is not None else (len(items) if isinstance(items, Sized) else None)
    artifact = cast("UUID", create_progress_artifact(progress=0.0, description=label))
    say_how_far = teller()
    say_how_far(f"{label}: 0 of {length}" if length else label)
    shown = time.monotonic()
    for done, item in enumerate(items):
        if length and time.monotonic() - shown > SECONDS_BETWEEN_UPDATES:
            shown, told = time.monotonic(), f"{label}: {done} of {length}"
            update_progress_artifact(artifact, progress=100.0 * done / length, description=told)
            say_how_far(told)
        yield item
    all_done = f"{label}: {length} of {length}" if length else label
    update_progress_artifact(artifact, progress=100.0, description=all_done)
    say_how_far("")


def teller() -> Callable[[str], None]:
    """Return what notes in the run's folder how far this flow is, for *What now*.

    Made once for each bar: in a process of its own, Prefect asks its server which flow this is, each time anew.
    """
    run, flow = flow_run.parameters.get("run"), str(flow_run.flow_name)
    if not run:
        return lambda _told: None
    return partial(note_progress, open_run(str(run)), flow)


Runner = TaskRunner[Any]


def task_runner() -> Runner:
    """Return the runner that the settings name; ``with`` starts it.

    It is created when a flow needs it, not when its module is imported: the command line imports the
    flows too, and a worker's settings may differ.

    Raises:
        InputError: when its extra is not installed, or an address is set that it cannot use.
    """
    settings = get_settings()
    workers = worker_count(settings)
    if settings.runner_address and settings.runner not in {"dask", "ray"}:
        msg = f"ABCDLINK_RUNNER_ADDRESS is set, but the runner {settings.runner!r} is on this machine"
        raise InputError(msg, "set ABCDLINK_RUNNER to dask or ray, or unset the address")
    match settings.runner:
        case "process":
            return ProcessPoolTaskRunner(max_workers=workers, initializer=_die_with_parent)
        case "dask":
            return _dask(settings.runner_address, workers)
        case "ray":
            return _ray(settings.runner_address, workers)
    return ThreadPoolTaskRunner(max_workers=workers)


def worker_count(settings: Settings) -> int:
    """Return how many parts run at the same time on this machine.

    By default, one in threads, since Python computes in one thread at a time;
    otherwise, enough processes for each to have the threads that it is set to use.
    """
    if settings.runner_workers:
        return settings.runner_workers
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return 1 if settings.runner == "threads" else max(1, cores // settings.threads)


def _die_with_parent() -> None:
    """End this process with its parent: if that is killed, it cannot say that the work is over."""
    parent = parent_process()
    if parent is None:
        return

    def watch(sentinel: int) -> None:
        connection.wait([sentinel])
        os._exit(1)

    Thread(target=watch, args=(parent.sentinel,), daemon=True).start()


def _dask(address: str, workers: int) -> Runner:
    make = _from_extra("dask", "DaskTaskRunner")
    if address:
        return make(address=address)
    # No dashboard: its port may be in use, and Prefect's pages show the parts.
    # TLS with its own certificates: otherwise, any user of this machine could run code in the workers.
    private = {"dashboard_address": None, "security": True}
    return make(cluster_kwargs={"n_workers": workers, "threads_per_worker": 1, **private})


def _ray(address: str, workers: int) -> Runner:
    make = _from_extra("ray", "RayTaskRunner")
    return make(address=address) if address else make(init_kwargs={"num_cpus": workers, "include_dashboard": False})


def _from_extra(extra: str, name: str) -> Callable[..., Runner]:
    try:
        make: Callable[..., Runner] = getattr(import_module(f"prefect_{extra}"), name)
    except ModuleNotFoundError as error:
        msg = f"the runner {extra!r} is not installed here (there is no module {error.name})"
        raise InputError(
            msg, f"pip install 'abcdlink[{extra}]', or set ABCDLINK_RUNNER to threads or process"
        ) from None
    return make
