"""The servers of this machine, and the records in which ``up``, ``status``, ``doctor`` and the watcher report."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from pydantic import Field, ValidationError

from abcdlink.corpus.records import Record
from abcdlink.errors import as_sentences
from abcdlink.folders import write_atomically

MARK = "ABCDLINK_STARTED_BY"
"""Environment variable that names the home folder of a program started by ``up``."""


class ServiceState(StrEnum):
    """The state of a service."""

    READY = "ready"
    STARTING = "starting"
    STOPPED = "stopped"
    FAILED = "failed"


class Service(Record):
    """The present state of one service.

    Attributes:
        url: its address; empty for the worker and the watcher, which have none.
        managed: whether ``up`` starts it here; ``False`` for a server that the settings name elsewhere.
        detail: one line for a person: process id, age and memory, or what is wrong.
        log: path of its log; empty when it is not managed.
    """

    name: str
    state: ServiceState
    url: str = ""
    managed: bool = True
    detail: str = ""
    log: str = ""


class Stack(Record):
    """All services of one home.

    ``started``: those that this call of ``up`` started. ``login``: how to log in to the local servers, without a
    password or token. ``notes``: what else the reader should know, one sentence each.
    """

    services: list[Service]
    started: list[str] = Field([])
    login: str = ""
    notes: list[str] = Field([])

    @property
    def ready(self) -> bool:
        """Whether every service is ready."""
        return all(service.state is ServiceState.READY for service in self.services)


class Result(StrEnum):
    """The result of a check; after ``WARN`` everything can still be used."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Check(Record):
    """One check of ``doctor``: what was found and, unless it is fine, how to fix it."""

    name: str
    result: Result
    what: str
    hint: str = ""


FILE = "watcher.json"
SILENT_SECONDS = 120.0
"""Age of a heartbeat above which something is wrong."""


class Heartbeat(Record):
    """What the watcher did last: when it ``looked``, and how many suspended runs were ``waiting``.

    ``awake``: since when the machine has been awake, if it slept while the watcher ran. ``error``: why the newest look
    failed; ``faults``: run name -> what went wrong with this run alone.
    """

    looked: datetime
    awake: datetime | None = None
    waiting: int = 0
    error: str = ""
    faults: dict[str, str] = Field({})

    def write(self, home: Path) -> None:
        """Write it to the home folder."""
        write_atomically(home / FILE, self.model_dump_json().encode(), mode=0o600)

    @property
    def age(self) -> float:
        """Seconds since the last look."""
        return (datetime.now(UTC) - self.looked).total_seconds()

    @property
    def problem(self) -> str:
        """What is wrong, in words; empty if nothing is."""
        if self.age > SILENT_SECONDS:
            minutes = f"nobody has checked on waiting runs for {self.age / 60:.0f} minutes"
            return f"{minutes}: {self.error}" if self.error else minutes
        runs = {fault: [name for name, its in self.faults.items() if its == fault] for fault in self.faults.values()}
        return "; ".join(
            f"{'run' if len(names) == 1 else 'runs'} {', '.join(names)}{as_sentences(': ' + fault.rstrip('.'))}"
            for fault, names in runs.items()
        )


def read_heartbeat(home: Path) -> Heartbeat | None:
    """Return the newest heartbeat, or ``None`` if there is none."""
    try:
        return Heartbeat.model_validate_json((home / FILE).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
