"""A real Prefect server with all deployments and a worker that can be killed, for one test session."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from tests import ROOT
from tests.helpers.label_studio_server import free_port

BIN = Path(sys.executable).parent
START_LIMIT = 120
POLL = 0.5
TRIES = 10


class PrefectServer:
    """The server's API as a test needs it, and its worker."""

    def __init__(self, port: int, folder: Path, environment: dict[str, str]) -> None:
        self.api = f"http://127.0.0.1:{port}/api"
        self.folder, self.worker = folder, None
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("ABCDLINK_", "PREFECT_"))},
            **environment,
            "PREFECT_API_URL": self.api,
            "PREFECT_HOME": str(folder / "prefect"),
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "DO_NOT_TRACK": "1",
            "PREFECT_WORKER_QUERY_SECONDS": "1",
            "OMP_NUM_THREADS": "1",
        }

    def run_prefect(self, *arguments: str) -> None:
        """Run the ``prefect`` command from the project's root; its output is shown when it fails."""
        done = subprocess.run(
            [BIN / "prefect", *arguments], cwd=ROOT, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def start_worker(self) -> None:
        """Start the process that picks up flow runs."""
        with (self.folder / "worker.log").open("ab") as log:
            self.worker = subprocess.Popen(
                [BIN / "prefect", "worker", "start", "--pool", "abcdlink", "--type", "process"],
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def kill_worker(self) -> None:
        """Kill the worker alone; the flow runs that it started are left without it."""
        self.worker.kill()
        self.worker.wait()

    def kill_all(self) -> None:
        """Kill the worker and all flow runs that it started, as when the power fails."""
        started = psutil.Process(self.worker.pid).children(recursive=True)
        for process in [self.worker, *started]:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self.worker.wait()

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> httpx.Response:
        """Call the API."""
        for _ in range(TRIES):
            answer = httpx.request(method, f"{self.api}{path}", json=body, timeout=30)
            # Prefect answers so while its SQLite database is locked; its own client tries again as well.
            if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                break
            time.sleep(1)
        return answer.raise_for_status()

    def post(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """Send to the API and return what it answers."""
        return self.call("POST", path, body or {}).json()

    def start(self, deployment: str, parameters: dict[str, Any], environment: dict[str, str] | None = None) -> str:
        """Start a run of a deployment (``flow/deployment``), with settings of its own, and return its id."""
        found = self.call("GET", f"/deployments/name/{deployment}").json()
        body = {"parameters": parameters, "job_variables": {"env": environment or {}}}
        return self.post(f"/deployments/{found['id']}/create_flow_run", body)["id"]

    def runs(self, flow: str) -> list[dict[str, Any]]:
        """Return all runs of a flow, oldest first."""
        body = {"flows": {"name": {"any_": [flow]}}, "sort": "START_TIME_ASC"}
        return self.post("/flow_runs/filter", body)

    def task_runs(self, flow_run: str) -> list[dict[str, Any]]:
        """Return the task runs of a flow run."""
        return self.post("/task_runs/filter", {"flow_runs": {"id": {"any_": [flow_run]}}})

    def artifacts(self, flow_run: str) -> list[dict[str, Any]]:
        """Return what the run page of a flow run shows."""
        return self.post("/artifacts/filter", {"flow_runs": {"id": {"any_": [flow_run]}}})

    def state(self, flow_run: str) -> str:
        """Return the name of a run's state."""
        run = self.call("GET", f"/flow_runs/{flow_run}").json()
        return run["state"]["name"]

    def wait(self, flow_run: str, state: str, seconds: float = 120) -> None:
        """Wait until a run is in a state; fail with the worker's log when it ends otherwise or too late."""
        deadline = time.monotonic() + seconds
        while (now := self.state(flow_run)) != state:
            if now in {"Failed", "Crashed", "Cancelled", "Completed"} or time.monotonic() > deadline:
                log = (self.folder / "worker.log").read_text(errors="replace")[-6000:]
                pytest.fail(f"the flow run is {now}, not {state}; the worker's log ends:\n{log}")
            time.sleep(POLL)


@contextmanager
def prefect_server(folder: Path, environment: dict[str, str]) -> Iterator[PrefectServer]:
    """Run a server with all deployments, their schedules off, and a worker while the context is open.

    ``environment``: settings (``ABCDLINK_*``) of the flow runs.
    """
    port = free_port()
    prefect = PrefectServer(port, folder, environment)
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [BIN / "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)],
            cwd=ROOT,
            env=prefect.environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _wait(prefect, server, folder / "server.log")
        prefect.run_prefect("work-pool", "create", "abcdlink", "--type", "process")
        prefect.run_prefect("--no-prompt", "deploy", "--all", "--prefect-file", "deployments/prefect.yaml")
        # The tests say when a scheduled flow runs.
        for deployment in prefect.post("/deployments/filter"):
            _switch_schedules_off(prefect, deployment)
        prefect.start_worker()
        yield prefect
    finally:
        for process in (prefect.worker, server):
            if process is not None and process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _switch_schedules_off(prefect: PrefectServer, deployment: dict[str, Any]) -> None:
    for schedule in deployment["schedules"]:
        prefect.call("PATCH", f"/deployments/{deployment['id']}/schedules/{schedule['id']}", {"active": False})


def _wait(prefect: PrefectServer, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_LIMIT
    while time.monotonic() < deadline and server.poll() is None:
        try:
            if httpx.get(f"{prefect.api}/health", timeout=5).is_success:
                return
        except httpx.HTTPError:
            pass
        time.sleep(POLL)
    pytest.fail(f"the Prefect server did not start:\n{log.read_text(errors='replace')[-2000:]}")
