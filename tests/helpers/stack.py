"""All servers of one module of tests: Prefect, Label Studio, and an LLM endpoint that logs every question."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from abcdlink.layout import batch_slug, feedback_slug
from abcdlink.store import Store, open_run
from labelstudio_config.simulate import simulate_batch
from tasks.waiting import WaitsFor, waiting_of
from tests.helpers.fake_llm import MODEL, FakeLLM, Request, Response, says
from tests.helpers.label_studio_server import LabelStudioServer
from tests.helpers.prefect_server import PrefectServer, prefect_server

SMALL = {
    "generation": {"documents": 3},
    "benchmark": {"retrievers": ["bm25"], "cutoffs": [1, 3]},
}


def answer(request: Request) -> Response:
    """Write a sentence that no other question gets, or judge candidates by a fixed rule."""
    digest = hashlib.sha256(request.prompt.encode()).hexdigest()
    properties = request.schema["properties"]
    if all(kind.get("type") == "boolean" for kind in properties.values()):
        return says(json.dumps({name: int(digest[i % 60], 16) > 9 for i, name in enumerate(properties)}))
    name = next(iter(properties))
    return says(json.dumps({name: f"Officials said on day {digest[:6]} that the new bridge stays closed."}))


@dataclass
class Stack:
    """All servers of one session, and the folder that runs lie in."""

    prefect: PrefectServer
    label_studio: LabelStudioServer
    llm: FakeLLM
    home: Path

    def run(self, key: str) -> Store:
        return open_run(key, str(self.home / "runs"))

    def simulate(self, key: str, batch: int) -> None:
        simulate_batch(self.run(key), self.label_studio.url, self.label_studio.token, batch)

    def reconcile(self, **parameters: int) -> None:
        self.prefect.wait(self.prefect.start("reconcile/reconcile", parameters), "Completed")

    def bring_to_its_end(self, flow_run: str) -> None:
        """Reconcile as its schedule would, until a run is completed."""
        for _ in range(12):
            if self.prefect.state(flow_run) == "Completed":
                return
            self.reconcile(stale_seconds=20)
            time.sleep(5)
        self.prefect.wait(flow_run, "Completed", 10)

    def wait_until_waiting(self, flow_run: str, key: str, kind: WaitsFor, batch: int, seconds: float = 90) -> None:
        """Wait until the run is suspended for ``kind`` of ``batch``."""
        store, deadline = self.run(key), time.monotonic() + seconds
        slug = feedback_slug(batch) if kind is WaitsFor.COORDINATOR else batch_slug(batch)
        while time.monotonic() < deadline:
            waiting = waiting_of(store, "annotate")
            if waiting is not None and (waiting.kind, waiting.slug) == (kind, slug):
                self.prefect.wait(flow_run, "Suspended")
                return
            time.sleep(0.5)
        pytest.fail(f"run {key} does not wait for {kind} of batch {batch} but: {waiting}")


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, label_studio: LabelStudioServer) -> Iterator[Stack]:
    home = tmp_path_factory.mktemp("home")
    with FakeLLM(answer) as llm:
        environment = {
            "ABCDLINK_HOME": str(home),
            "ABCDLINK_LLM_BASE_URL": llm.base_url,
            "ABCDLINK_LLM_MODEL": MODEL,
            "ABCDLINK_LABEL_STUDIO_URL": label_studio.url,
            "ABCDLINK_LABEL_STUDIO_TOKEN": label_studio.token,
        }
        with prefect_server(tmp_path_factory.mktemp("prefect"), environment) as prefect:
            yield Stack(prefect, label_studio, llm, home)
