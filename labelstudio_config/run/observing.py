"""What the run keeps of a project of Label Studio, so that nothing that was once seen is lost.

Beside ``pushed.json`` lie the tasks as they were pushed, what was seen of them and of the answers at
every look, and what was already said to look wrong.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from filelock import FileLock

from abcdlink.collection import collection_paused
from abcdlink.layout import ANOMALIES, project_file
from abcdlink.settings import get_settings
from abcdlink.store import Store
from labelstudio_config.client import Client
from labelstudio_config.completeness import open_keys
from labelstudio_config.kept import Kept, digest_of, remember
from labelstudio_config.projects import Project, find_project
from labelstudio_config.push import PushResult, push_tasks
from labelstudio_config.run.pushed import PushedProject
from labelstudio_config.snapshot import PushedCopy, Snapshot, snapshot_of

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
def observe(store: Store, client: Client, pushed: PushedProject, requeued: Collection[int] = ()) -> Snapshot:
    """Read what lies in Label Studio for a project and keep it; returns what counts.

    Args:
        store: the run.
        client: the server.
        pushed: the project.
        requeued: ids of annotations that we took away ourselves.

    Raises:
        ServiceError: when Label Studio does not answer.
    """
    with _alone(store, pushed.slug):
        before = _read_kept(store, pushed.slug)
        project = find_project(client, pushed.title, pushed.project_id, pushed.made)
        tasks = [] if project is None else client.tasks(project)
        kept = remember(before, project, tasks, client.accounts(), datetime.now(UTC), requeued)
        if kept != before:
            store.write_record(project_file(pushed.slug, SNAPSHOT), kept, indent=None)
    return snapshot_of(kept, pushed.task_keys, pushed_copy(store, pushed.slug))


@collection_paused()
def last_seen(store: Store, pushed: PushedProject) -> Snapshot | None:
    """Return what counted at the last look; ``None``: nobody looked yet."""
    kept = _read_kept(store, pushed.slug)
    return None if kept is None else snapshot_of(kept, pushed.task_keys, pushed_copy(store, pushed.slug))


def push_back(store: Store, client: Client, pushed: PushedProject, snapshot: Snapshot) -> PushResult | None:
    """Push the tasks again that are gone before enough annotators had answered them.

    A project that is gone is made anew, with these tasks only. ``None``: nothing is missing.
    """
    unfinished = set(open_keys(snapshot, pushed.task_keys, pushed.overlap))
    missing = [key for key in snapshot.vanished if key in unfinished]
    name = project_file(pushed.slug, TASKS)
    if not missing or not store.exists(name):
        return None
    kept = json.loads(lzma.decompress(store.folder.read(name)))
    project = Project.model_validate(kept["project"])
    back = {key: kept["tasks"][key] for key in missing if key in kept["tasks"]}
    at = snapshot.project if snapshot.kept.there else None
    return push_tasks(client, project, back, at) if back else None


def not_said_yet(store: Store, slug: str, anomalies: Sequence[str]) -> list[str]:
    """Return what was not reported before, and note that it is now."""
    name = project_file(slug, ANOMALIES)
    before = store.read_json(name) if store.exists(name) else []
    new = [line for line in anomalies if line not in before]
    if new:
        store.write_json(name, [*before, *new])
    return new


def _read_kept(store: Store, slug: str) -> Kept | None:
    return store.find_record(project_file(slug, SNAPSHOT), Kept)


@contextmanager
def _alone(store: Store, slug: str) -> Iterator[None]:
    """Let one look at a time read and write what was seen, on this machine."""
    lock = get_settings().home.resolve() / "locks" / f"{store.key}.{slug}.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(lock):
        yield
