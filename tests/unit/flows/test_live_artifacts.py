"""The page of a waiting run shows one bar and one table, replaced in place, and only when something is new."""

from __future__ import annotations

from pathlib import Path
from typing import Self
from uuid import UUID, uuid4

import pytest
from prefect.artifacts import Artifact
from prefect.client.schemas.actions import ArtifactUpdate
from prefect.exceptions import ObjectNotFound

from abcdlink.folders import LocalFolder
from abcdlink.store import Store
from flows import waiting
from flows.waiting import show_progress, show_rows
from labelstudio_config.progress import ProjectProgress

RUN, OTHER = str(uuid4()), str(uuid4())


class Server:
    """Artifacts by id, as Prefect would hold them."""

    def __init__(self) -> None:
        self.held: dict[UUID, tuple[str, object]] = {}
        self.told: list[str | None] = []
        self.calls: list[str] = []

    def create(self, artifact: Artifact) -> str:
        self.calls.append("create")
        made = uuid4()
        self.held[made] = (str(artifact.flow_run_id), artifact.format())
        return str(made)

    def update_artifact(self, artifact_id: UUID, change: ArtifactUpdate) -> None:
        self.calls.append("update")
        if artifact_id not in self.held:
            raise ObjectNotFound(KeyError(artifact_id))
        self.held[artifact_id] = (self.held[artifact_id][0], change.data)
        self.told.append(change.description)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    server = Server()
    monkeypatch.setattr(waiting, "get_client", lambda **_: server)
    monkeypatch.setattr(waiting, "create", server.create)
    return server


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(LocalFolder(tmp_path / "spring"), "spring")


def done(tasks: int, *, closed: bool = False) -> ProjectProgress:
    return ProjectProgress(tasks=2, done=tasks, complete=closed or tasks == 2)


def test_a_check_without_news_shows_nothing(server: Server, store: Store) -> None:
    for _ in range(3):
        show_progress(store, RUN, "batch-1", done(1))
        show_rows(store, RUN, "batch-1", "annotators", [{"account": "ada@example.org", "done": 1}], "1 of 2")
    assert server.calls == ["create", "create"]
    assert {run for run, _ in server.held.values()} == {RUN}


def test_updates_replace_artifacts_in_place(server: Server, store: Store) -> None:
    for tasks in range(3):
        show_progress(store, RUN, "batch-1", done(tasks))
    assert server.calls == ["create", "update", "update"]
    assert list(server.held.values()) == [(RUN, 100.0)]


def test_another_run_of_the_flow_has_its_own_page(server: Server, store: Store) -> None:
    show_progress(store, RUN, "batch-1", done(1))
    show_progress(store, OTHER, "batch-1", done(1))
    assert server.calls == ["create", "create"]


def test_a_deleted_artifact_is_created_again(server: Server, store: Store) -> None:
    show_progress(store, RUN, "batch-1", done(0))
    server.held.clear()
    show_progress(store, RUN, "batch-1", done(1))
    assert list(server.held.values()) == [(RUN, 50.0)]


def test_a_project_closed_by_hand_is_shown_as_closed(server: Server, store: Store) -> None:
    show_progress(store, RUN, "batch-1", done(1))
    show_progress(store, RUN, "batch-1", done(1, closed=True))
    assert server.told == ["Run spring, batch-1: 1 of 2 tasks done, closed"]
