"""Tasks of a Label Studio project: there once, however often and by however many this is run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from abcdlink.corpus.records import Record
from abcdlink.errors import ServiceError
from labelstudio_config.client import Client
from labelstudio_config.kept import key_of
from labelstudio_config.projects import Project, annotate_url, ensure_project

CHUNK = 500
"""Tasks in one import call: 30 MB with documents of 150 sentences, of the 250 MB that Label Studio takes."""


class PushResult(Record):
    """Where the tasks are. ``created``: tasks that were not there before; ``already``: those that were.

    ``made``: when Label Studio made the project.
    """

    project_id: int
    made: str
    url: str
    created: int
    already: int


def push_tasks(
    client: Client, project: Project, tasks: Mapping[str, Mapping[str, Any]], known: int | None = None
) -> PushResult:
    """Bring tasks into a project; those that are there already stay untouched.

    Label Studio knows no unique key; a call that it answered too late may be sent again, and two may
    push at once. So the tasks are counted afterwards; when there are more or less than there should be,
    they are read back, and of tasks with the same key the first stays.

    Args:
        client: the server.
        project: where the tasks go; made when it is not there.
        tasks: task key -> data, in the order in which annotators get them.
        known: id of the project where it is known to be there, whatever its title is now.

    Raises:
        ServiceError: when Label Studio does not do its part.
    """
    at = ensure_project(client, project, known)
    held = client.task_count(at)
    before = _tasks_by_key(client, at) if held else {}
    missing = [{"data": {"task_key": key, **data}} for key, data in tasks.items() if key not in before]
    for start in range(0, len(missing), CHUNK):
        client.import_tasks(at, missing[start : start + CHUNK])
    # As many as there should be: then nothing is there twice, and what is there need not be read.
    if (client.task_count(at) if missing else held) != len(before) + len(missing):
        _keep_first_of_each(client, at, tasks.keys())
    return PushResult(
        project_id=at,
        made=(client.project(at) or ("", ""))[1],
        url=annotate_url(client, at, project.hidden),
        created=len(missing),
        already=len(tasks) - len(missing),
    )


def _tasks_by_key(client: Client, project: int) -> dict[str, list[tuple[int, bool]]]:
    """Return task key -> (task id, whether it has annotations or drafts), lowest id first."""
    found: defaultdict[str, list[tuple[int, bool]]] = defaultdict(list)
    for task in sorted(client.tasks(project), key=lambda task: int(task["id"])):
        begun = bool(task["annotations"] or task["drafts"])
        found[key_of(task)].append((task["id"], begun))
    return dict(found)


def _keep_first_of_each(client: Client, project: int, wanted: Iterable[str]) -> None:
    """Remove later tasks with the same key, unless someone has begun one; make sure that all are there."""
    found = _tasks_by_key(client, project)
    for key in found.keys() & wanted:
        for task, begun in found[key][1:]:
            if not begun:
                client.delete_task(task)
    lost = set(wanted) - found.keys()
    if lost:
        msg = f"Label Studio at {client.url} took the tasks of project {project}, but {len(lost)} are not there"
        raise ServiceError(msg, "look into its log and push again; tasks that are there are not pushed twice")
