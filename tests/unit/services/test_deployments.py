"""What `up` does about runs that were due while everything was off."""

from __future__ import annotations

from typing import Any

import pytest

from abcdlink.settings import Settings
from services.deployments import skip_missed_runs


class FakePrefect:
    """Answers with these late runs, newest first, and records what it is told to delete."""

    def __init__(self, *runs: tuple[str, str, bool]) -> None:
        self.runs, self.deleted = runs, []

    def read(self, method: str, path: str, body: dict[str, Any]) -> list[dict[str, Any]]:
        assert (method, path, body["sort"]) == ("POST", "/flow_runs/filter", "EXPECTED_START_TIME_DESC")
        return [dict(zip(("id", "deployment_id", "auto_scheduled"), run, strict=True)) for run in self.runs]

    def ask(self, method: str, path: str) -> None:
        assert method == "DELETE"
        self.deleted.append(path.removeprefix("/flow_runs/"))


def test_only_the_newest_missed_scheduled_run_and_all_requested_runs_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prefect = FakePrefect(
        ("noon", "reconcile", True),
        ("asked", "reconcile", False),
        ("eleven", "drops", True),
        ("morning", "reconcile", True),
        ("asked earlier", "drops", False),
        ("ten", "drops", True),
    )
    monkeypatch.setattr("services.deployments.prefect_api", lambda _settings: prefect)
    skip_missed_runs(Settings())
    assert prefect.deleted == ["morning", "ten"]
