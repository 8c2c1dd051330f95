"""All servers of a test session: Prefect, Label Studio, and an LLM endpoint that logs every question."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_URL, temporary_settings
from typer.testing import CliRunner

from abcdlink.cli.app import make_app
from abcdlink.settings import get_settings
from abcdlink.store import Store, open_run
from abcdlink.waiting import WaitsFor, waiting_of
from flows.reconcile import ReconcileResult, look_at_all
from labelstudio_config.simulate import simulate_batch
from tests.helpers.fake_llm import MODEL, FakeLLM, by_rule
from tests.helpers.label_studio_server import LabelStudioServer
from tests.helpers.labels import PROBABLE
from tests.helpers.prefect_server import PrefectServer, prefect_server
from tests.helpers.waiting import until

SMALL = {
    "pairs": 3,
    "generation": {"documents": 3},
    "benchmark": {"retrievers": ["bm25"], "learned": [PROBABLE], "cutoffs": [1, 3]},
}
"""A whole job that loads no model."""


@dataclass
class Stack:
    """All servers of one session, and the folder that runs are in."""

    prefect: PrefectServer
    label_studio: LabelStudioServer
    llm: FakeLLM
    home: Path

    def run(self, key: str) -> Store:
        return open_run(key, str(self.home / "runs"))

    def simulate(self, key: str, batch: int) -> None:
        simulate_batch(self.run(key), self.label_studio.url, self.label_studio.token, batch)

    def look(self, stale_seconds: int = 150) -> ReconcileResult:
        """Look at all waiting and dead runs as the watcher does, and resume those that can go on.

        A living run gives a sign of life every 30 s: with fewer seconds it is presumed dead and started twice.
        """
        with self._here(), get_client(sync_client=True) as client:
            return look_at_all(client, timedelta(seconds=stale_seconds))

    def command(self, *arguments: str) -> str:
        """Run a command with the settings of the flow runs; returns its output."""
        with self._here():
            done = CliRunner().invoke(make_app(), arguments)
        assert done.exit_code == 0, f"{done.output}{done.exception!r}"
        return done.stdout

    @contextmanager
    def _here(self) -> Iterator[None]:
        """Give this process the settings of the flow runs for a while."""
        with pytest.MonkeyPatch.context() as patch, temporary_settings({PREFECT_API_URL: self.prefect.api}):
            for name, value in self.prefect.environment.items():
                if name.startswith("ABCDLINK_"):
                    patch.setenv(name, value)
            get_settings.cache_clear()
            yield
        get_settings.cache_clear()

    def bring_to_its_end(self, flow_run: str) -> None:
        """Look as the watcher would until a run is completed."""

        def ended() -> bool:
            self.look()
            return self.prefect.state(flow_run) == "Completed"

        until(ended, f"Completed: {flow_run}", poll=1)

    def wait_until_waiting(
        self, flow_run: str, key: str, kind: WaitsFor, slug: str | None = None, flow: str = "annotate"
    ) -> None:
        """Wait until the run is suspended for ``kind``, where a ``slug`` is given in that project."""

        def waits() -> bool:
            waiting = waiting_of(self.run(key), flow)
            return waiting is not None and waiting.kind is kind and slug in {None, waiting.slug}

        until(waits, f"run {key} waiting for {kind} of {slug}")
        self.prefect.wait(flow_run, "Suspended")


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory, label_studio: LabelStudioServer) -> Iterator[Stack]:
    home = tmp_path_factory.mktemp("home")
    with FakeLLM(by_rule) as llm:
        environment = {
            "ABCDLINK_HOME": str(home),
            "ABCDLINK_LLM_BASE_URL": llm.base_url,
            "ABCDLINK_LLM_MODEL": MODEL,
            "ABCDLINK_LABEL_STUDIO_URL": label_studio.url,
            "ABCDLINK_LABEL_STUDIO_TOKEN": label_studio.token,
        }
        with prefect_server(tmp_path_factory.mktemp("prefect"), environment) as prefect:
            yield Stack(prefect, label_studio, llm, home)
