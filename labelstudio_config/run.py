"""Projects of a run: pushed once, looked at; the same for every kind of work. Nothing that was ever read is lost.

What a run knows of a project is under its slug (``batch-1``, ``adjudication``) in the run's folder: the project
(``pushed.json``), the tasks as they were pushed, what every look read of them and of the answers, and what was
already said to look wrong.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from filelock import FileLock

from abcdlink.collection import collection_paused
from abcdlink.corpus.records import Record
from abcdlink.layout import ANOMALIES, project_file
from abcdlink.locks import lock_of
from abcdlink.settings import get_settings
from abcdlink.store import Store
from labelstudio_config.client import Client, connect
from labelstudio_config.history import History, digest_of, remember
from labelstudio_config.projects import Project, PushResult, find_project, push_tasks
from labelstudio_config.snapshot import PushedCopy, Snapshot, open_keys, snapshot_of

PUSHED = "pushed.json"


class PushedProject(Record):
    """A project that is in Label Studio. ``overlap``: annotators per task.

    ``made``: when Label Studio made it, which tells it from another project with the same id on another server.
    ``task_keys``: of its tasks. A field named ``keys`` would make Prefect take the record for a mapping.
    """

    slug: str
    title: str
    project_id: int
    url: str
    overlap: int
    task_keys: tuple[str, ...]
    made: str = ""


def keep_pushed(store: Store, pushed: PushedProject) -> None:
    """Keep what is known of a project that was pushed."""
    store.write_record(project_file(pushed.slug, PUSHED), pushed)


def is_pushed(store: Store, slug: str) -> bool:
    """Tell whether a project of the run was pushed."""
    return store.exists(project_file(slug, PUSHED))


def read_pushed(store: Store, slug: str) -> PushedProject:
    """Return what the run knows of a project that was pushed."""
    return store.read_record(project_file(slug, PUSHED), PushedProject)


TASKS = "tasks.json.xz"
DIGESTS = "digests.json"
SNAPSHOT = "snapshot.json"


def keep_tasks(store: Store, slug: str, project: Project, tasks: Mapping[str, Mapping[str, Any]]) -> None:
    """Keep what is about to be pushed, documents and all, so that it can be pushed back.

    The documents of a pair are in each of its tasks: compressed, they take the room of one.
    """
    store.folder.remove(project_file(slug, DIGESTS))
    text = json.dumps({"project": project.model_dump(), "tasks": tasks}, ensure_ascii=False)
    store.folder.write(project_file(slug, TASKS), lzma.compress(text.encode(), preset=0))


def tasks_kept(store: Store, slug: str) -> dict[str, dict[str, Any]]:
    """Return the data of the tasks as they were pushed, by key; empty where they were not kept."""
    name = project_file(slug, TASKS)
    if not store.exists(name):
        return {}
    tasks: dict[str, dict[str, Any]] = json.loads(lzma.decompress(store.folder.read(name)))["tasks"]
    return tasks


def pushed_copy(store: Store, slug: str) -> PushedCopy:
    """Return what the tasks of a project are compared with; their digests are computed once."""
    name = project_file(slug, DIGESTS)
    if not store.exists(name):
        digests = {key: digest_of({"task_key": key, **data}) for key, data in tasks_kept(store, slug).items()}
        store.write_json(name, digests)
    return PushedCopy(store.read_json(name), lambda: tasks_kept(store, slug))


@collection_paused()
def look_at(store: Store, client: Client, pushed: PushedProject, requeued: Collection[int] = ()) -> Snapshot:
    """Read what is in Label Studio for a project and keep it; returns what counts.

    Args:
        store: the run.
        client: the server.
        pushed: the project.
        requeued: ids of annotations that we took away ourselves.

    Raises:
        ServiceError: when Label Studio does not answer.
    """
    with lock_of(f"{store.key}.{pushed.slug}"):
        before = _read_history(store, pushed.slug)
        project = find_project(client, pushed.title, pushed.project_id, pushed.made)
        tasks = [] if project is None else client.tasks(project)
        kept = remember(before, project, tasks, client.accounts(), datetime.now(UTC), requeued)
        if kept != before:
            store.write_record(project_file(pushed.slug, SNAPSHOT), kept, indent=None)
    return snapshot_of(kept, pushed.task_keys, pushed_copy(store, pushed.slug))


@collection_paused()
def known_so_far(store: Store, pushed: PushedProject) -> Snapshot | None:
    """Return what counted at the last look; ``None``: nobody looked yet."""
    kept = _read_history(store, pushed.slug)
    return None if kept is None else snapshot_of(kept, pushed.task_keys, pushed_copy(store, pushed.slug))


def push_back(store: Store, client: Client, pushed: PushedProject, snapshot: Snapshot) -> PushResult | None:
    """Push the tasks again that are gone before enough annotators had answered them.

    A deleted project is made again, with these tasks only. ``None``: nothing is missing.
    """
    unfinished = set(open_keys(snapshot, pushed.task_keys, pushed.overlap))
    missing = [key for key in snapshot.vanished if key in unfinished]
    name = project_file(pushed.slug, TASKS)
    if not missing or not store.exists(name):
        return None
    kept = json.loads(lzma.decompress(store.folder.read(name)))
    project = Project.model_validate(kept["project"])
    back = {key: kept["tasks"][key] for key in missing if key in kept["tasks"]}
    at = snapshot.project if snapshot.history.there else None
    return push_tasks(client, project, back, at) if back else None


def not_said_yet(store: Store, slug: str, anomalies: Sequence[str]) -> list[str]:
    """Return what was not reported before, and note that it is now."""
    name = project_file(slug, ANOMALIES)
    before = store.read_json(name) if store.exists(name) else []
    new = [line for line in anomalies if line not in before]
    if new:
        store.write_json(name, [*before, *new])
    return new


def _read_history(store: Store, slug: str) -> History | None:
    return store.find_record(project_file(slug, SNAPSHOT), History)


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
    with _pushing(store, slug):
        return _push_once(store, slug, project, tasks, needed)


def _pushing(store: Store, slug: str) -> FileLock:
    """Return the lock by which two processes do not push one project twice."""
    return lock_of(f"{store.key}.{slug}.push")


def _push_once(
    store: Store, slug: str, project: Project, tasks: Mapping[str, Mapping[str, Any]], needed: int | None = None
) -> PushedProject:
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
    with _pushing(store, slug):
        return _push_more(store, slug, project, tasks)


def _push_more(store: Store, slug: str, project: Project, tasks: dict[str, dict[str, Any]]) -> PushedProject:
    pushed = _push_once(store, slug, project, tasks)
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


def look_now(store: Store, slug: str) -> tuple[PushedProject, Snapshot]:
    """Read and keep what is in Label Studio for a project, and push back the unfinished tasks that are gone."""
    with _pushing(store, slug):
        client, pushed = label_studio(), read_pushed(store, slug)
        snapshot = look_at(store, client, pushed)
        back = push_back(store, client, pushed, snapshot)
        if back is None:
            return pushed, snapshot
        pushed = pushed.model_copy(update={"project_id": back.project_id, "made": back.made, "url": back.url})
        keep_pushed(store, pushed)
        return pushed, look_at(store, client, pushed)


def last_look(store: Store, slug: str) -> Snapshot:
    """Return what counted of a project at the last look, by which it was complete; look where nobody has."""
    pushed = read_pushed(store, slug)
    return known_so_far(store, pushed) or look_at(store, label_studio(), pushed)
