"""What Prefect retries, what it logs, and how far a flow says that it is."""

from __future__ import annotations

import logging
import sys
from types import SimpleNamespace

import pytest
from prefect.client.schemas.objects import TaskRun
from prefect.exceptions import Pause
from prefect.states import Failed

from abcdlink.errors import BudgetError, InputError, ServiceError
from abcdlink.store import open_run
from abcdlink.waiting import WaitsFor, wait_for, waiting_of
from tasks.running import prefect_progress, service_failed, worth_saying


def test_noise_is_not_logged_and_a_suspension_is_not_a_fault():
    noise = logging.LogRecord("prefect.flow_runs", logging.INFO, "", 1, "Hook %r finished running", ("began",), None)
    assert not worth_saying(noise)
    raised = (Pause, Pause(), None)
    record = logging.LogRecord("prefect.engine", logging.INFO, "", 1, "it is paused", (), raised)
    assert worth_saying(record)
    assert "Traceback" not in logging.Formatter().format(record)


CLEAR = [ServiceError("gone", "wait"), BudgetError("used up", "raise it"), InputError("wrong", "fix it")]


@pytest.mark.parametrize("error", [*CLEAR, ValueError("a bug")])
def test_only_an_unresponsive_service_is_retried(error):
    again = service_failed(None, TaskRun.model_construct(), Failed(data=error))
    assert again is isinstance(error, ServiceError)


@pytest.mark.parametrize("error", [*CLEAR, ValueError("a bug")])
def test_only_unexpected_errors_are_logged_with_a_traceback(error):
    try:
        raise error
    except type(error):
        record = logging.LogRecord("prefect.task_runs", logging.ERROR, "", 1, "failed: %r", (error,), sys.exc_info())
    assert worth_saying(record)
    said = logging.Formatter().format(record)
    assert repr(error) in said
    assert ("Traceback" in said) is isinstance(error, ValueError)


def test_what_now_says_how_far_a_flow_is_at_once_and_every_two_seconds(isolated_home, monkeypatch):
    store, now = open_run("spring"), 0
    for name, value in (
        ("flow_run", SimpleNamespace(flow_name="bootstrap", parameters={"run": "spring"})),
        ("create_progress_artifact", lambda **_: None),
        ("update_progress_artifact", lambda *_, **__: None),
        ("time", SimpleNamespace(monotonic=lambda: now)),
    ):
        monkeypatch.setattr(f"tasks.running.{name}", value)
    wait_for(store, "f1", "bootstrap", WaitsFor.NOBODY)
    told = []
    for _ in prefect_progress("abcd", "asking"):
        told.append(waiting_of(store, "bootstrap").told)
        now += 1.5
    told.append(waiting_of(store, "bootstrap").told)
    assert told == ["asking: 0 of 4", "asking: 0 of 4", "asking: 2 of 4", "asking: 2 of 4", ""]
