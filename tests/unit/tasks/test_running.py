"""What Prefect retries, and what it logs."""

from __future__ import annotations

import logging
import sys

import pytest
from prefect.client.schemas.objects import TaskRun
from prefect.exceptions import Pause
from prefect.states import Failed

from abcdlink.errors import BudgetError, InputError, ServiceError
from tasks.running import service_failed, worth_saying


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
