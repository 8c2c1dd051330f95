"""Prefect's part of ``up``: the work pool, and the deployments in ``deployments/prefect.yaml``."""

from __future__ import annotations

import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import httpx

from abcdlink.errors import InputError, ServiceError
from abcdlink.settings import PROJECT_ROOT, Settings
from services.programs import WORK_POOL, environment, prefect_api, prefect_url, process_environment

PREFECT_FILE = PROJECT_ROOT / "deployments" / "prefect.yaml"
DEPLOY_SECONDS = 180.0
LOG_LINES = 20
LOG_BYTES = 20_000


JOB_TEMPLATE = {
    # What the worker runs is fixed here: whoever creates a run cannot choose its command, environment or folder.
    # Without a command, Prefect's worker would start another Python first, which looks for a project to install.
    "job_configuration": {
        "command": shlex.join([sys.executable, "-m", "prefect.engine"]),
        "stream_output": True,
        "working_dir": None,
    },
    "variables": {"type": "object", "properties": {}, "additionalProperties": False},
}


def ensure_work_pool(settings: Settings) -> None:
    """Create the work pool of type process, or update the existing one.

    Raises:
        ServiceError: when Prefect's server does not create it.
    """
    api = prefect_api(settings)
    try:
        pool = {"name": WORK_POOL, "type": "process", "base_job_template": JOB_TEMPLATE}
        reply = api.ask("POST", "/work_pools/", pool)
        if reply.status_code == httpx.codes.CONFLICT:
            reply = api.ask("PATCH", f"/work_pools/{WORK_POOL}", {"base_job_template": JOB_TEMPLATE})
    except httpx.HTTPError as error:
        msg = f"the Prefect server at {prefect_url(settings)} does not answer ({error})"
        raise ServiceError(msg, "start it with `abcdlink up`") from None
    if not reply.is_success:
        said = f"{reply.status_code} {reply.text[:200]}"
        msg = f"the Prefect server at {prefect_url(settings)} did not create the work pool: {said}"
        raise ServiceError(msg, "run `abcdlink doctor`")


UNFINISHED = ["RUNNING", "PENDING", "CANCELLING"]


def settle_dead_runs(settings: Settings) -> None:
    """Mark runs that were under way when everything ended as crashed: none of their processes can still exist.

    The watcher then restarts those that can resume. Call this before a worker is started.
    """
    api = prefect_api(settings)
    wanted = {"flow_runs": {"state": {"type": {"any_": UNFINISHED}}}, "work_pools": {"name": {"any_": [WORK_POOL]}}}
    crashed = {"type": "CRASHED", "name": "Crashed", "message": "Its process ended with the servers."}
    for run in api.read("POST", "/flow_runs/filter", wanted):
        api.ask("POST", f"/flow_runs/{run['id']}/set_state", {"state": crashed, "force": True})


def skip_missed_runs(settings: Settings) -> None:
    """Delete the runs that schedules asked for while everything was off, but the newest of each deployment.

    They would all start at once, and each do what the newest does.
    """
    api = prefect_api(settings)
    wanted = {
        "flow_runs": {
            "state": {"type": {"any_": ["SCHEDULED"]}},
            "expected_start_time": {"before_": datetime.now(UTC).isoformat()},
        },
        "sort": "EXPECTED_START_TIME_DESC",
    }
    newest: set[str] = set()
    for run in api.read("POST", "/flow_runs/filter", wanted):
        if run["auto_scheduled"] and run["deployment_id"] in newest:
            api.ask("DELETE", f"/flow_runs/{run['id']}")
        elif run["auto_scheduled"]:
            newest.add(run["deployment_id"])


def schedule_drops(settings: Settings) -> None:
    """Switch on the schedule of ``drops``, which is off in the deployments file."""
    api = prefect_api(settings)
    for deployment in api.read("POST", "/deployments/filter", {"deployments": {"name": {"any_": ["drops"]}}}):
        for schedule in deployment["schedules"]:
            change = {"active": True}
            api.ask("PATCH", f"/deployments/{deployment['id']}/schedules/{schedule['id']}", change).raise_for_status()


def forget_former_deployments(settings: Settings) -> None:
    """Delete the deployments of flows that only an earlier version had."""
    api = prefect_api(settings)
    for deployment in api.read("POST", "/deployments/filter", {"work_pools": {"name": {"any_": [WORK_POOL]}}}):
        file = (deployment["entrypoint"] or "").partition(":")[0]
        if file.startswith("flows/") and not (PROJECT_ROOT / file).is_file():
            api.ask("DELETE", f"/deployments/{deployment['id']}")


class Deployment:
    """One `prefect deploy` in the background, for every flow, form and schedule of a Prefect file.

    Entry points in the file are relative to the project's folder. Applying it again changes nothing.

    Raises:
        InputError: when there is no such file.
        ServiceError: when the server does not answer.
    """

    def __init__(self, settings: Settings, prefect_file: Path = PREFECT_FILE) -> None:
        if not prefect_file.is_file():
            msg = f"there is no file {prefect_file}"
            raise InputError(msg, "restore it from the repository: it lists the flows to deploy")
        ensure_work_pool(settings)
        self.settings, self.prefect_file = settings, prefect_file
        self._settled = False
        self.log = settings.home.resolve() / "logs" / "deploy.log"
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.log.touch(mode=0o600)
        what = ("deploy", "--all", "--prefect-file", str(prefect_file))
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                (sys.executable, "-m", "prefect", "--no-prompt", *what),
                cwd=PROJECT_ROOT,
                env=process_environment(environment(settings)),
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def is_done(self) -> bool:
        """Tell whether everything is deployed; ``ServiceError`` with the end of the log if Prefect refused it."""
        if self._process.poll():
            msg = f"Prefect did not accept the deployments of {self.prefect_file}; the end of {self.log}:\n"
            raise ServiceError(msg + end_of(self.log), "fix what it reports, then run `abcdlink up` again")
        if self._process.returncode is None:
            return False
        if not self._settled:
            forget_former_deployments(self.settings)
            if self.settings.drops_source:
                schedule_drops(self.settings)
            self._settled = True
        return True

    def wait(self) -> None:
        """Wait until everything is deployed; raises ``ServiceError`` when Prefect refuses it or takes too long."""
        try:
            self._process.wait(DEPLOY_SECONDS)
        except subprocess.TimeoutExpired:
            self.stop()
            msg = f"`prefect deploy` did not finish within {DEPLOY_SECONDS:.0f} s"
            raise ServiceError(msg, f"see {self.log}") from None
        self.is_done()

    def stop(self) -> None:
        """Kill it if it is still running."""
        self._process.kill()
        self._process.wait()


def end_of(log: Path) -> str:
    """Return the last lines of a log, indented, without empty ones."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - LOG_BYTES))
        lines = [line for line in file.read().decode(errors="replace").splitlines() if line.strip()]
    return "\n".join(f"  {line}" for line in lines[-LOG_LINES:])
