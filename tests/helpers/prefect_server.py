"""A real Prefect server with all deployments and a worker that can be killed, for one test session."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from filelock import FileLock

from services.deployments import JOB_TEMPLATE
from services.programs import LOOPS
from tests import ROOT
from tests.helpers.label_studio_server import free_port
from tests.helpers.waiting import until

BIN = Path(sys.executable).parent


class PrefectServer:
    """The server's API as a test needs it, and its worker."""

    def __init__(self, port: int, folder: Path, environment: dict[str, str]) -> None:
        self.port, self.api = port, f"http://127.0.0.1:{port}/api"
        self.folder = folder
        self.database = folder / "prefect" / "prefect.db"
        self.database.parent.mkdir()
        self.server: subprocess.Popen[bytes] | None = None
        self.worker: subprocess.Popen[bytes] | None = None
        self.client = httpx.Client(base_url=self.api, timeout=120)
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("ABCDLINK_", "PREFECT_"))},
            "ABCDLINK_PREVIEW": "false",
            **environment,
            "PREFECT_API_URL": self.api,
            "PREFECT_HOME": str(folder / "prefect"),
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            **{f"PREFECT_SERVER_SERVICES_{name}_LOOP_SECONDS": str(seconds) for name, seconds in LOOPS.items()},
            "DO_NOT_TRACK": "1",
            "PREFECT_WORKER_QUERY_SECONDS": "1",
            "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30",
            "OMP_NUM_THREADS": "1",
        }

    def run_prefect(self, *arguments: str) -> None:
        """Run the ``prefect`` command from the project's root; show its output when it fails."""
        done = subprocess.run(
            [BIN / "prefect", *arguments], cwd=ROOT, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def start_server(self) -> None:
        """Start the server and wait until it answers."""
        command = [sys.executable, "-m", "services.prefect_server", "--port", str(self.port)]
        self.server = self._start(command, "server.log")
        until(self._answers, "a Prefect server that answers")

    def _answers(self) -> bool:
        if self.server.poll() is not None:
            pytest.fail(f"the Prefect server ended:\n{self._end_of('server.log')}")
        with suppress(httpx.HTTPError):
            return self.client.get("/health").is_success
        return False

    def deploy(self) -> None:
        """Deploy every flow with its schedule off, since the tests decide when a flow runs."""
        # By the API, as the command takes seconds to import Prefect.
        template = {**JOB_TEMPLATE, "variables": {"properties": {"env": {"type": "object"}}}}
        self.post("/work_pools/", {"name": "abcdlink", "type": "process", "base_job_template": template})
        self.run_prefect("--no-prompt", "deploy", "--all", "--prefect-file", "deployments/prefect.yaml")
        for deployment in self.post("/deployments/filter"):
            for schedule in deployment["schedules"]:
                self.call("PATCH", f"/deployments/{deployment['id']}/schedules/{schedule['id']}", {"active": False})

    def _start(self, command: list[Path | str], log: str) -> subprocess.Popen[bytes]:
        with (self.folder / log).open("ab") as output:
            return subprocess.Popen(
                command,
                cwd=ROOT,
                env=self.environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _end_of(self, log: str) -> str:
        return (self.folder / log).read_text(errors="replace")[-6000:]

    def start_worker(self) -> None:
        """Start the process that picks up flow runs."""
        command = [sys.executable, "-m", "tests.helpers.forking_worker"]
        self.worker = self._start(command, "worker.log")

    def kill_worker(self) -> None:
        """Kill the worker only; the flow runs that it started go on without it."""
        self.worker.kill()
        self.worker.wait()

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> httpx.Response:
        """Call the API."""

        def answer() -> httpx.Response | None:
            said = self.client.request(method, path, json=body)
            # Prefect answers like this while its SQLite database is locked; its own client retries as well.
            return None if said.status_code == httpx.codes.SERVICE_UNAVAILABLE else said

        return until(answer, f"an answer to {method} {path}").raise_for_status()

    def post(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """Send to the API and return what it answers."""
        return self.call("POST", path, body or {}).json()

    def start(self, deployment: str, parameters: dict[str, Any], environment: dict[str, str] | None = None) -> str:
        """Start a run of a deployment (``flow/deployment``) with these settings and return its id."""
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

    def tasks_named(self, flow_run: str, begins: str, count: int) -> list[str]:
        """Return the names of a flow run's tasks that begin like this.

        Waits for ``count`` of them: Prefect records a task a moment after it ran, perhaps after its flow has ended.
        """

        def names() -> list[str]:
            return sorted(run["name"] for run in self.task_runs(flow_run) if run["name"].startswith(begins))

        until(lambda: len(names()) >= count, f"{count} tasks {begins} of {flow_run}")
        return names()

    def artifacts(self, flow_run: str) -> list[dict[str, Any]]:
        """Return what the run page of a flow run shows."""
        return self.post("/artifacts/filter", {"flow_runs": {"id": {"any_": [flow_run]}}})

    def state(self, flow_run: str) -> str:
        """Return the name of a run's state."""
        run = self.call("GET", f"/flow_runs/{flow_run}").json()
        return run["state"]["name"]

    def wait(self, flow_run: str, state: str) -> None:
        """Wait until a run is in a state; fail with the worker's log when it ends otherwise."""

        def is_there() -> bool:
            now = self.state(flow_run)
            if now != state and now in {"Failed", "Crashed", "Cancelled", "Completed"}:
                pytest.fail(f"the run is {now}, not {state}; the worker's log ends:\n{self._end_of('worker.log')}")
            return now == state

        try:
            until(is_there, f"{state}: {flow_run}")
        except pytest.fail.Exception as late:
            pytest.fail(f"{late}: {self.state(flow_run)}; the worker's log ends:\n{self._end_of('worker.log')}")


@contextmanager
def prefect_server(folder: Path, environment: dict[str, str]) -> Iterator[PrefectServer]:
    """Run a server with all deployments, their schedules off, and a worker while the context is open.

    The first server of a test session leaves its database as a template for later ones.

    ``environment``: settings (``ABCDLINK_*``) of the flow runs.
    """
    prefect = PrefectServer(free_port(), folder, environment)
    base = folder.parent.parent if folder.parent.name.startswith("popen-") else folder.parent  # of all xdist workers
    template = base / "prefect-template.db"
    try:
        with FileLock(template.with_suffix(".lock")):
            if template.exists():
                shutil.copy(template, prefect.database)
            else:
                prefect.start_server()
                prefect.deploy()
                with closing(sqlite3.connect(prefect.database)) as made, closing(sqlite3.connect(template)) as copy:
                    made.backup(copy)
        if prefect.server is None:
            prefect.start_server()
        prefect.start_worker()
        yield prefect
    finally:
        for process in (prefect.worker, prefect.server):
            if process is not None and process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
