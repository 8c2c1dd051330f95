"""How things stand on the page of a suspended run: kept up to date from outside, as no process of the run is there."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from prefect.artifacts import Artifact, ProgressArtifact, TableArtifact
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import ArtifactUpdate
from prefect.exceptions import ObjectNotFound

from abcdlink.layout import project_file
from abcdlink.store import Store
from flows.ui.artifacts import key

if TYPE_CHECKING:
    from prefect.client.schemas.objects import Artifact as ArtifactResponse

LIVE_ARTIFACTS = "live-artifacts.json"
"""What run pages show of a project, by artifact key and flow run; beside the project in the run's folder."""


def show_progress(store: Store, flow_run: str, slug: str, percent: float, told: str) -> None:
    """Show how much of a project is done, on the page of the run that waits for it."""
    bar = ProgressArtifact(
        key=key(store.key, slug, "progress"), progress=percent, description=told, flow_run_id=UUID(flow_run)
    )
    show_live(store, slug, bar, round(percent, 2))


def show_rows(store: Store, flow_run: str, slug: str, name: str, rows: list[dict[str, Any]], told: str) -> None:
    """Show a table on the page of the run that waits for a project."""
    shown = TableArtifact(
        key=key(store.key, slug, name), table=list(rows), description=told, flow_run_id=UUID(flow_run)
    )
    show_live(store, slug, shown, rows)


def show_live(store: Store, slug: str, artifact: Artifact, content: object) -> None:
    """Show an artifact, or replace it in place; nothing when ``content`` is what it shows already.

    A look every half minute would otherwise fill the page of a run that waits for weeks.
    """
    name = project_file(slug, LIVE_ARTIFACTS)
    shown_now: dict[str, Any] = store.read_json(name) if store.exists(name) else {}
    # Each flow run has a page of its own, and several of them may show the same at one time.
    shown_as = f"{artifact.key} {artifact.flow_run_id}"
    before = shown_now.get(shown_as, {})
    # Kept as a digest: what a page shows may hold an invitation, and the run's folder is for others too.
    digest = hashlib.sha256(json.dumps(content, default=str).encode()).hexdigest()
    if before and before["content"] == digest:
        return
    shown = before["id"] if before and replace(UUID(before["id"]), artifact) else create(artifact)
    store.write_json(name, {**shown_now, shown_as: {"id": shown, "content": digest}})


def create(artifact: Artifact) -> str:
    """Show an artifact for the first time; returns its id."""
    return str(cast("ArtifactResponse", artifact.create()).id)


def replace(artifact_id: UUID, artifact: Artifact) -> bool:
    """Replace data and description of an artifact; ``False``: it is gone."""
    change = ArtifactUpdate(data=artifact.format(), description=artifact.description)
    with get_client(sync_client=True) as client:
        try:
            client.update_artifact(artifact_id, change)
        except ObjectNotFound:
            return False
    return True
