"""What ``up``, ``status`` and ``doctor`` report: a record for each service and each check."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class ServiceState(StrEnum):
    """The state of a service."""

    READY = "ready"
    STARTING = "starting"
    STOPPED = "stopped"
    FAILED = "failed"


class Service(BaseModel):
    """The present state of one service.

    Attributes:
        url: where it is; empty for the worker and the watcher, which have no address.
        managed: whether ``up`` starts it here; ``False`` for a server that the settings name elsewhere.
        detail: one line for a person: process id, age and memory, or what is wrong.
        log: path of its log; empty when it is not managed.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    state: ServiceState
    url: str = ""
    managed: bool = True
    detail: str = ""
    log: str = ""


class Stack(BaseModel):
    """All services of one home.

    Attributes:
        started: names of the services that this call of ``up`` started.
        login: how to log in to the local servers; contains no password and no token.
        notes: what else the reader should know, one sentence each.
    """

    model_config = ConfigDict(frozen=True)

    services: list[Service]
    started: list[str] = []
    login: str = ""
    notes: list[str] = []

    @property
    def ready(self) -> bool:
        """Whether every service is ready."""
        return all(service.state is ServiceState.READY for service in self.services)


class Result(StrEnum):
    """The result of a check; after ``WARN`` everything can still be used."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Check(BaseModel):
    """One check of ``doctor``: what was found and, unless it is fine, how to fix it."""

    model_config = ConfigDict(frozen=True)

    name: str
    result: Result
    what: str
    hint: str = ""
