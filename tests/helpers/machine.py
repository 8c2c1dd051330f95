"""A whole installation as `up` starts it, in its own home; its processes can be killed and put to sleep."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
import yaml

from abcdlink.settings import Settings, get_settings
from abcdlink.store import Store, open_run
from services import MARK
from services.credentials import with_secrets
from services.deployments import PREFECT_FILE
from services.health import PrefectApi, answers, free_port
from services.programs import LABEL_STUDIO_COMMAND, prefect_api
from services.start import down, up
from services.supervision import Supervisor
from tests import ROOT
from tests.helpers.fake_llm import MODEL
from tests.helpers.homes import configure
from tests.helpers.waiting import WAIT, until

FLOWS = {"bootstrap", "annotate", "reconcile"}
"""The deployments of a machine; the test of the guide deploys all of them, which takes twice as long."""
AWAY = 2.0
"""Seconds for which a killed LLM stays down; everything else is restarted by its supervisor."""
NAP = 170.0
"""Seconds of sleep: longer than a run may be silent before another process takes its place."""


class Machine:
    """The servers of one home, and an LLM that logs every question.

    Args:
        folder: an empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self.questions_log = folder / "questions.txt"
        self.questions_log.touch()
        self.llm_port = free_port()
        self.llm: subprocess.Popen[bytes] | None = None
        self.prefect_file = folder / "prefect.yaml"
        deployments = yaml.safe_load(PREFECT_FILE.read_text(encoding="utf-8"))["deployments"]
        chosen = [one for one in deployments if one["name"] in FLOWS]
        self.prefect_file.write_text(yaml.safe_dump({"name": "machine", "deployments": chosen}), encoding="utf-8")
        self.settings = Settings(
            home=folder / "home",
            label_studio_url=f"http://127.0.0.1:{free_port()}",
            llm_base_url=f"http://127.0.0.1:{self.llm_port}/v1",
            llm_model=MODEL,
            prefect_port=free_port(),
        )
        self.home = self.settings.home.resolve()
        self._api: PrefectApi | None = None

    @property
    def token(self) -> str:
        """Of the coordinator's account at Label Studio."""
        return self.settings.label_studio_token.get_secret_value()

    def up(self) -> None:
        """Start everything that is not running."""
        if self.llm is None:
            command = [sys.executable, "-m", "tests.helpers.llm_process", str(self.llm_port), str(self.questions_log)]
            self.llm = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
            until(lambda: answers(f"http://127.0.0.1:{self.llm_port}/v1/models", 0.0), "an LLM that answers")
        up(self.settings, prefect_file=self.prefect_file)
        self.settings = with_secrets(self.settings)

    def down(self) -> None:
        """Stop everything."""
        down(self.settings)
        self.kill_llm()

    def store(self, key: str) -> Store:
        """Return a run."""
        return open_run(key, self.settings.runs_root)

    def start(self, deployment: str, parameters: dict[str, Any]) -> str:
        """Start a run of a deployment (``flow/deployment``) and return its id."""
        api = prefect_api(self.settings)
        found = api.read("GET", f"/deployments/name/{deployment}")["id"]
        body = {"state": {"type": "SCHEDULED"}, "parameters": parameters}
        return str(api.read("POST", f"/deployments/{found}/create_flow_run", body)["id"])

    def flow_run(self, flow: str, key: str) -> dict[str, Any] | None:
        """Return the newest run of a flow for a run key; ``None`` if there is none or Prefect does not answer."""
        wanted = {"flows": {"name": {"any_": [flow]}}, "sort": "EXPECTED_START_TIME_DESC"}
        with suppress(httpx.HTTPError):
            runs = self._prefect().read("POST", "/flow_runs/filter", wanted)
            return next((run for run in runs if run["parameters"].get("run") == key), None)
        return None

    def _prefect(self) -> PrefectApi:
        self._api = self._api or prefect_api(self.settings, patience=5)
        return self._api

    def state(self, flow: str, key: str) -> str:
        """Return the name of the state of a flow's newest run; empty if there is none."""
        run = self.flow_run(flow, key)
        return run["state"]["name"] if run else ""

    def questions(self) -> list[str]:
        """Return the hashes of all questions that the LLM was asked, in order."""
        return self.questions_log.read_text().split()

    # --- what can happen to it; each returns how long something was away on purpose -------------

    def kill_flow(self) -> float:
        """Kill the processes that run flows."""
        return self._kill(self.flows())

    def kill_worker(self) -> float:
        """Kill the worker, without the flows that it started."""
        return self._kill(self._program("worker"))

    def kill_worker_tree(self) -> float:
        """Kill the worker and all that it started."""
        (worker,) = self._program("worker")
        return self._kill([worker, *worker.children(recursive=True)])

    def kill_prefect(self) -> float:
        """Kill the Prefect server."""
        return self._kill(self._program("prefect"))

    def kill_label_studio(self) -> float:
        """Kill Label Studio."""
        return self._kill(self._program("label-studio"))

    def kill_llm(self) -> float:
        """Kill the LLM."""
        if self.llm is not None:
            self.llm.kill()
            self.llm.wait()
        self.llm = None
        return 0.0

    def restart_llm(self) -> float:
        """Kill the LLM and start it again."""
        self.kill_llm()
        time.sleep(AWAY)
        self.up()
        return AWAY

    def cut_the_power(self) -> float:
        """Kill everything at once and start it again."""
        everything = self._mine()
        assert len(everything) >= 5
        self.kill_llm()
        self._kill(everything)
        began = time.monotonic()
        self.up()
        return time.monotonic() - began

    def stop_and_start(self) -> float:
        """Stop everything the way people do and start it again."""
        began = time.monotonic()
        self.down()
        self.up()
        return time.monotonic() - began

    def sleep(self) -> float:
        """Freeze everything and let it go on, as a laptop does."""
        return self._nap(self._mine())

    def let_flow_sleep(self) -> float:
        """Freeze the processes that run flows and let them go on."""
        return self._nap(self.flows())

    def flows(self) -> list[psutil.Process]:
        """Return the processes that run flows, with those that they started."""
        return [process for process, variables in self._processes() if "PREFECT__FLOW_RUN_ID" in variables]

    def _mine(self) -> list[psutil.Process]:
        return [process for process, _ in self._processes()]

    def _processes(self) -> Iterator[tuple[psutil.Process, dict[str, str]]]:
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                variables = process.environ()
                if variables.get(MARK) == str(self.home) and process.pid != os.getpid():
                    yield process, variables

    def _program(self, name: str) -> list[psutil.Process]:
        pid = until(lambda: Supervisor(self.home).states()[name]["pid"], f"a process of {name}")
        return [psutil.Process(pid)]

    @staticmethod
    def _kill(processes: Iterable[psutil.Process]) -> float:
        listed = list(processes)
        for process in listed:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(listed, timeout=WAIT)
        return 0.0

    @staticmethod
    def _nap(processes: list[psutil.Process]) -> float:
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for process in processes:
                with suppress(psutil.NoSuchProcess):
                    process.send_signal(number)
            if number is signal.SIGSTOP:
                time.sleep(NAP)
        return NAP


@contextmanager
def running_machine(folder: Path) -> Iterator[Machine]:
    """Start a machine and stop it at the end; skips where Label Studio is not installed."""
    if not LABEL_STUDIO_COMMAND.exists():
        pytest.skip("Label Studio is not installed: `make setup`")
    made = Machine(folder)
    with pytest.MonkeyPatch.context() as patch:
        # Work of this process on a run uses the locks in the same home.
        configure(patch, home=made.home)
        try:
            made.up()
            yield made
        finally:
            made.down()
            get_settings.cache_clear()
