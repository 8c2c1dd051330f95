"""What the services tell about themselves: one record a service, one a check."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class ServiceState(StrEnum):
    """How a service is."""

    READY = "ready"
    STARTING = "starting"
    STOPPED = "stopped"
    FAILED = "failed"


class Service(BaseModel):
    """One service as it is now.

    Attributes:
        url: where it is; empty for the worker, which has no address.
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
        login: how a person logs in to Label Studio; names no password and no token.
        notes: what the reader should know besides, a sentence each.
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
    """How a check came out: ``WARN`` leaves the product usable."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Check(BaseModel):
    """One check of ``doctor``: what was found and, unless it is fine, what to do about it."""

    model_config = ConfigDict(frozen=True)

    name: str
    result: Result
    what: str
    mend: str = ""
