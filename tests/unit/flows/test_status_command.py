"""`abcdlink status RUN`, which people run again and again while they wait."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from abcdlink.store import open_run
from abcdlink.waiting import WaitsFor, wait_for
from tests.helpers.command_line import call


def test_status_links_the_page_of_a_run_without_importing_prefect(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("prefect", "prefect.client.orchestration", "flows.waiting", "tasks.runs"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delenv("PREFECT_UI_URL", raising=False)
    monkeypatch.setenv("PREFECT_API_URL", "http://prefect.invalid:4200/api")
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    store = open_run("spring")
    store.note("inputs", {})
    wait_for(store, "0a1b", "annotate", WaitsFor.LLM, told="The LLM answers a batch of questions.")
    assert "http://prefect.invalid:4200/runs/flow-run/0a1b" in call("status", "spring")
