"""A run that commands and flows of these tests work on."""

from __future__ import annotations

from pathlib import Path

import pytest

from abcdlink.store import Store, open_run
from tests.helpers.example_run import example_run


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("ABCDLINK_RUNS", str(tmp_path))
    example_run(tmp_path)
    return open_run("harbour")
