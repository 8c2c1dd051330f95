"""``python -m tests.helpers.forking_worker``: a Prefect worker that imports everything before a flow runs.

Prefect's own worker starts two Python processes per flow run, which cost more than most flows in the tests.
This one forks: the flow run is a separate process that can be killed, but it already has the imports. Prefect's own
worker, which `abcdlink up` starts, is in the tests of the whole machine (``machine.py``).
"""

from __future__ import annotations

import atexit
import gc
import importlib
import logging
import os
import runpy
import sys
import time
import warnings
from contextlib import suppress
from typing import Any

import httpx

from abcdlink.languages import guess_language
from abcdlink.settings import get_settings

POOL = "abcdlink"
POLL = 0.5
FLOWS = ("annotate", "batches", "bootstrap", "corpora", "drops", "people", "reconcile", "stages")
LIBRARIES = (
    *("anyio._backends._asyncio", "graphviz", "label_studio_sdk.client", "matplotlib.figure", "openai.resources.chat"),
    *("pandas", "prefect.task_engine", "pyarrow.dataset", "pyarrow.parquet", "rich._emoji_codes", "sklearn.ensemble"),
    *("skops.io", "snowballstemmer", "spacy.lang.en", "textstat", "truststore"),
)
IMPORTED = ("prefect.engine", "prefect.flow_engine", *(f"flows.{name}" for name in FLOWS), *LIBRARIES)
"""What flows load, imported before the fork. None of it starts a Python thread, which a fork would lose."""


class Worker:
    """Starts the flow runs of a work pool, and marks those that died as crashed."""

    def __init__(self, api: httpx.Client) -> None:
        self.api = api
        self.runs: dict[int, str] = {}
        """Process of each running flow run -> the run's id."""

    def work(self) -> tuple[dict[str, Any], str]:
        """Keep starting what is due; in the process that is to run it, return a run and where its flow is."""
        while True:
            # The server is down or its database locked: the next poll finds the same runs.
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
    status: Any = 1

    def leave() -> None:
        """Exit at once: tearing down the imports costs as much as a small flow."""
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)

    atexit.register(leave)
    for name in IMPORTED:
        importlib.import_module(name)
    guess_language("The model of the languages is loaded too.")
    gc.freeze()  # a collection in a forked process would copy all of it
    with httpx.Client(base_url=os.environ["PREFECT_API_URL"], timeout=60) as api:
        run, entrypoint = Worker(api).work()
    os.environ["PREFECT__FLOW_RUN_ID"] = run["id"]
    # Imported under its module name, the file is not run again.
    os.environ["PREFECT__FLOW_ENTRYPOINT"] = entrypoint.replace("/", ".").replace(".py:", ":")
    os.environ |= (run["job_variables"] or {}).get("env", {})
    get_settings.cache_clear()
    sys.path[1:1] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    sys.argv = ["prefect.engine"]
    warnings.simplefilter("ignore", RuntimeWarning)  # that the main module had already been imported
    try:
        runpy.run_module("prefect.engine", run_name="__main__")
        status = 0
    except SystemExit as ended:
        status = ended.code or 0


if __name__ == "__main__":
    main()
