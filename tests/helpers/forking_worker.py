"""``python -m tests.helpers.forking_worker``: a worker of Prefect that has imported everything before a flow runs.

Prefect's own worker starts two Python processes for each flow run, which cost more than most of the flows of the tests.
This one forks: the flow run is a process of its own that can be killed, but the imports are there. What `abcdlink up`
starts, Prefect's own worker, is in the tests of the whole machine (``machine.py``).
"""

from __future__ import annotations

import importlib
import os
import runpy
import sys
import time
import warnings
from contextlib import suppress
from typing import Any

import httpx

from abcdlink.settings import get_settings

POOL = "abcdlink"
POLL = 0.5
FLOWS = ("flows.bootstrap", "flows.people", "flows.corpora", "flows.batches", "flows.drops")
LIBRARIES = ("pandas", "pyarrow.parquet", "skops.io", "sklearn.ensemble", "matplotlib.figure", "spacy", "textstat")
IMPORTED = ("prefect.engine", "prefect.flow_engine", *FLOWS, *LIBRARIES)
"""What flows load, before they are forked. None of it starts a Python thread, which a fork would not have."""


class Worker:
    """Starts the flow runs of a work pool, and says of those that died that they crashed."""

    def __init__(self, api: httpx.Client) -> None:
        self.api = api
        self.runs: dict[int, str] = {}
        """Process of each run under way -> the run's id."""

    def work(self) -> tuple[dict[str, Any], str]:
        """Start what is due, again and again; returns a run and where its flow is, in the process that is to run it."""
        while True:
            # The server is away, or its database is locked: the next look finds the same runs.
            with suppress(httpx.HTTPError):
                for due in self._post(f"/work_pools/{POOL}/get_scheduled_flow_runs", {}):
                    run = due["flow_run"]
                    answer = self._post(f"/flow_runs/{run['id']}/set_state", {"state": {"type": "PENDING"}})
                    if answer["status"] != "ACCEPT":
                        continue
                    entrypoint = self._get(f"/deployments/{run['deployment_id']}")["entrypoint"]
                    process = os.fork()
                    if not process:
                        return run, entrypoint
                    self.runs[process] = run["id"]
                self._report_dead()
            time.sleep(POLL)

    def _report_dead(self) -> None:
        for process, run in list(self.runs.items()):
            ended, status = os.waitpid(process, os.WNOHANG)
            if not ended:
                continue
            del self.runs[process]
            if status and self._get(f"/flow_runs/{run}")["state"]["type"] in {"PENDING", "RUNNING"}:
                state = {"type": "CRASHED", "name": "Crashed", "message": f"The process ended with {status}."}
                self._post(f"/flow_runs/{run}/set_state", {"state": state})

    def _get(self, path: str) -> Any:
        return self.api.get(path).raise_for_status().json()

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        return self.api.post(path, json=body).raise_for_status().json()


def main() -> None:
    """Work until killed; in each forked process, run a flow as ``python -m prefect.engine`` does."""
    for name in IMPORTED:
        importlib.import_module(name)
    with httpx.Client(base_url=os.environ["PREFECT_API_URL"], timeout=60) as api:
        run, entrypoint = Worker(api).work()
    os.environ["PREFECT__FLOW_RUN_ID"], os.environ["PREFECT__FLOW_ENTRYPOINT"] = run["id"], entrypoint
    os.environ |= (run["job_variables"] or {}).get("env", {})
    get_settings.cache_clear()
    sys.path[1:1] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    sys.argv = ["prefect.engine"]
    warnings.simplefilter("ignore", RuntimeWarning)  # that what runs as the main module was imported before
    runpy.run_module("prefect.engine", run_name="__main__")


if __name__ == "__main__":
    main()
