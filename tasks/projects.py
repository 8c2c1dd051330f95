"""Projects of Label Studio: pushed once, looked at, waited for; the same for every kind of project.

What a run knows of a project lies under its slug (``batch-1``, ``adjudication``) in the run's folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from prefect import get_run_logger, task

from abcdlink.corpus.records import Record
from abcdlink.layout import project_file, waiting_file
from abcdlink.settings import get_settings
from abcdlink.store import Store, open_run
from labelstudio_config.anomalies import anomalies_in
from labelstudio_config.client import Client, connect
from labelstudio_config.completeness import Progress, progress_in
from labelstudio_config.projects import Project
from labelstudio_config.push import push_tasks
from labelstudio_config.snapshot import Snapshot
from tasks.observing import keep_tasks, not_said_yet, observe, push_back
from tasks.retrying import SERVICE_RETRIES

PUSHED = "pushed.json"


class PushedProject(Record):
    """A project that lies in Label Studio. ``overlap``: annotators per task.

    ``task_keys``: of its tasks. A field named ``keys`` would make Prefect take the record for a mapping.
    """

    slug: str
    title: str
    project_id: int
    url: str
    overlap: int
    task_keys: tuple[str, ...]


class WaitsFor(StrEnum):
    """Whom a suspended run waits for."""

    ANNOTATORS = "annotators"
    COORDINATOR = "coordinator"
    NOTHING = "nothing"


class Waiting(Record):
    """What a flow run waits for, and at which project."""

    flow_run: str
    kind: WaitsFor
    slug: str


def label_studio() -> Client:
    """Connect to the Label Studio of the settings."""
    settings = get_settings()
    return connect(settings.label_studio_url, settings.label_studio_token.get_secret_value())


def push_project(
    store: Store, slug: str, project: Project, tasks: Mapping[str, Mapping[str, Any]], needed: int | None = None
) -> PushedProject:
    """Bring tasks into their project, or return what is known of the project that was pushed before.

    ``needed``: annotators whom a task waits for, where more may judge it; default: all who may.
    """
    name = project_file(slug, PUSHED)
    if not store.exists(name):
        keep_tasks(store, slug, project, tasks)
        result = push_tasks(label_studio(), project, tasks)
        pushed = PushedProject(
            slug=slug,
            title=project.title,
            project_id=result.project_id,
            url=result.url,
            overlap=needed or project.overlap,
            task_keys=tuple(tasks),
        )
        store.write_record(name, pushed)
    return read_pushed(store, slug)


def push_more(store: Store, slug: str, project: Project, tasks: Mapping[str, Mapping[str, Any]]) -> PushedProject:
    """Bring those tasks into their project that were not pushed before; all are waited for then."""
    pushed = push_project(store, slug, project, tasks)
    new = {key: data for key, data in tasks.items() if key not in pushed.task_keys}
    if new:
        keep_tasks(store, slug, project, tasks)
        result = push_tasks(label_studio(), project, new)
        keys = (*pushed.task_keys, *new)
        changes = {"project_id": result.project_id, "url": result.url, "task_keys": keys}
        pushed = pushed.model_copy(update=changes)
        store.write_record(project_file(slug, PUSHED), pushed)
    return pushed


def is_pushed(store: Store, slug: str) -> bool:
    """Tell whether a project of the run was pushed."""
    return store.exists(project_file(slug, PUSHED))


def read_pushed(store: Store, slug: str) -> PushedProject:
    """Return what the run knows of a project that was pushed."""
    return store.read_record(project_file(slug, PUSHED), PushedProject)


@task(task_run_name="look at {slug}", **SERVICE_RETRIES)
def look(run: str, slug: str) -> Progress:
    """Read how far the annotators of a project are, push back what is missing, and say once what looks wrong."""
    store = open_run(run)
    pushed, snapshot = see(store, slug)
    for line in not_said_yet(store, slug, anomalies_in(snapshot, str)):
        get_run_logger().warning("Run %s, %s: %s.", run, slug, line)
    return progress_in(snapshot, pushed.task_keys, pushed.overlap)


def see(store: Store, slug: str) -> tuple[PushedProject, Snapshot]:
    """Read and keep what lies in Label Studio for a project, and push back the unfinished tasks that are gone."""
    client, pushed = label_studio(), read_pushed(store, slug)
    snapshot = observe(store, client, pushed)
    back = push_back(store, client, pushed, snapshot)
    if back is None:
        return pushed, snapshot
    pushed = pushed.model_copy(update={"project_id": back.project_id, "url": back.url})
    store.write_record(project_file(slug, PUSHED), pushed)
    return pushed, observe(store, client, pushed)


def wait_for(store: Store, flow_run: str, flow: str, kind: WaitsFor, slug: str) -> None:
    """Note what the run of a flow is about to wait for; at its end, for nothing."""
    waiting = Waiting(flow_run=flow_run, kind=kind, slug=slug)
    store.write_record(waiting_file(flow), waiting)


def waiting_of(store: Store, flow: str) -> Waiting | None:
    """Return what the run of a flow waits for, or did when it was last seen; ``None``: it never waited."""
    return store.find_record(waiting_file(flow), Waiting)
