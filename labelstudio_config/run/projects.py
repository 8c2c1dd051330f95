"""Projects of a run: pushed once, looked at; the same for every kind of project.

What a run knows of a project lies under its slug (``batch-1``, ``adjudication``) in the run's folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from abcdlink.settings import get_settings
from abcdlink.store import Store
from labelstudio_config.client import Client, connect
from labelstudio_config.projects import Project, find_project
from labelstudio_config.push import push_tasks
from labelstudio_config.run.observing import keep_tasks, last_seen, observe, push_back, tasks_kept
from labelstudio_config.run.pushed import PushedProject, is_pushed, keep_pushed, read_pushed
from labelstudio_config.snapshot import Snapshot


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
    if not is_pushed(store, slug):
        keep_tasks(store, slug, project, tasks)
        result = push_tasks(label_studio(), project, tasks)
        pushed = PushedProject(
            slug=slug,
            title=project.title,
            project_id=result.project_id,
            made=result.made,
            url=result.url,
            overlap=needed or project.overlap,
            task_keys=tuple(tasks),
        )
        keep_pushed(store, pushed)
    return read_pushed(store, slug)


def push_more(store: Store, slug: str, project: Project, tasks: dict[str, dict[str, Any]]) -> PushedProject:
    """Bring those tasks into their project that were not pushed before; all are waited for then."""
    pushed = push_project(store, slug, project, tasks)
    new = {key: data for key, data in tasks.items() if key not in pushed.task_keys}
    if new:
        # Tasks that are there already stay as they were pushed, whatever they would look like now.
        keep_tasks(store, slug, project, tasks | tasks_kept(store, slug))
        client = label_studio()
        known = find_project(client, pushed.title, pushed.project_id, pushed.made)
        result = push_tasks(client, project, new, known)
        keys = (*pushed.task_keys, *new)
        changes = {"project_id": result.project_id, "made": result.made, "url": result.url, "task_keys": keys}
        pushed = pushed.model_copy(update=changes)
        keep_pushed(store, pushed)
    return pushed


def see(store: Store, slug: str) -> tuple[PushedProject, Snapshot]:
    """Read and keep what lies in Label Studio for a project, and push back the unfinished tasks that are gone."""
    client, pushed = label_studio(), read_pushed(store, slug)
    snapshot = observe(store, client, pushed)
    back = push_back(store, client, pushed, snapshot)
    if back is None:
        return pushed, snapshot
    pushed = pushed.model_copy(update={"project_id": back.project_id, "made": back.made, "url": back.url})
    keep_pushed(store, pushed)
    return pushed, observe(store, client, pushed)


def seen(store: Store, slug: str) -> Snapshot:
    """Return what counted of a project at the last look, by which it was complete; look where nobody has."""
    pushed = read_pushed(store, slug)
    return last_seen(store, pushed) or observe(store, label_studio(), pushed)
