"""When a task is tried again: only where another try can help."""

from __future__ import annotations

from typing import Any

from prefect.client.schemas import TaskRun
from prefect.client.schemas.objects import State

from abcdlink.errors import ServiceError


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
