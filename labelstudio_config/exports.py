"""All tasks of a project, as Label Studio exports them, whatever of it cannot be read."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Sequence
from typing import Any

from label_studio_sdk.core.api_error import ApiError

from abcdlink.errors import ServiceError

FIRST_SERVER_ERROR = 500

PART = 200
"""Tasks that are read at once when the whole export fails."""

WAITS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Longest waits before a cut export is asked for again, in seconds."""

UNREADABLE = "Label Studio cannot send it (a character that is not Unicode?)"

Task = dict[str, Any]
"""A task with its annotations, as Label Studio exports it."""

Request = Callable[..., Any]
"""Returns the JSON of a reply: method and address; ``params``, and ``request_options`` of the SDK."""


def all_tasks(request: Request, project: int) -> list[Task]:
    """Return all tasks of a project.

    One character that is not Unicode (a lone surrogate) makes the whole export fail: then the tasks are read in
    parts, down to the annotation that cannot be read, which has the field ``unreadable``.

    Raises:
        ApiError: as ``request`` does.
        ServiceError: when every export is cut.
    """
    exported = _export(request, project)
    return _tasks_in_parts(request, project) if exported is None else exported


def _export(request: Request, project: int, ids: Sequence[int] = (), **options: int) -> list[Task] | None:
    """Return the tasks with these ids, or all; ``None`` if the server fails on them. ``options``: as ``_try``.

    Two exports of the same answers within a minute are one file on the server: what is read while the other export
    writes it is empty or cut, so it is asked for again.
    """
    asked = {"exportType": "JSON", "download_all_tasks": "true", "ids[]": list(ids)}
    for wait in WAITS:
        try:
            exported: list[Task] | None = _try(request, f"api/projects/{project}/export", asked, **options)
        except ValueError:
            time.sleep(random.uniform(0, wait))  # noqa: S311 - so that the two do not meet again
        else:
            return exported
    msg = f"Label Studio sent no whole export of the project {project}"
    raise ServiceError(msg, "check the disk and the log of its machine, then run this again")


def _tasks_in_parts(request: Request, project: int) -> list[Task]:
    """Export a project in parts, halving those that fail; a single task that fails is read piece by piece."""
    listed: list[dict[str, Any]] = []
    while True:
        fields = "id,created_at,annotations_ids,annotators"
        page = {"project": project, "fields": "all", "include": fields, "page_size": PART}
        page["page"] = len(listed) // PART + 1
        new = request("GET", "api/tasks", params=page)["tasks"]
        listed += new
        if len(new) < PART:
            break
    found = []
    parts = [listed[start : start + PART] for start in range(0, len(listed), PART)][::-1]
    while parts:
        part = parts.pop()
        # Not asked again when the server fails: the halves are.
        exported = _export(request, project, [task["id"] for task in part], max_retries=0)
        if exported is not None:
            found += exported
        elif len(part) > 1:
            parts += [part[len(part) // 2 :], part[: len(part) // 2]]
        else:
            found.append(_put_together(request, project, part[0]))
    return found


def _put_together(request: Request, project: int, listed: dict[str, Any]) -> Task:
    """Read a task and its annotations one by one."""
    only = {"filter": "filter:tasks:id", "operator": "equal", "value": listed["id"], "type": "Number"}
    query = json.dumps({"filters": {"conjunction": "and", "items": [only]}})
    asked = {"project": project, "fields": "all", "include": "id,data", "query": query}
    found = _try(request, "api/tasks", asked)
    ids = [int(number) for number in str(listed["annotations_ids"] or "").split(",") if number]
    read = {number: _try(request, f"api/annotations/{number}/") for number in ids}
    known = [annotation["completed_by"] for annotation in read.values() if annotation]
    # If only one is unreadable, its author is whoever is not an author of the others.
    rest = [person for person in _ids(listed["annotators"]) if person not in known]
    whose = rest[0] if len(rest) == 1 else None
    unreadable = {"completed_by": whose, "updated_by": whose, "unreadable": UNREADABLE}
    return {
        "id": listed["id"],
        "created_at": listed["created_at"],
        "data": found["tasks"][0]["data"] if found and found["tasks"] else {},
        "annotations": [annotation or {"id": number, **unreadable} for number, annotation in read.items()],
        "drafts": [],
    }


def _try(request: Request, address: str, parameters: dict[str, Any] | None = None, **options: int) -> Any:  # noqa: ANN401 - JSON
    """Read a value; ``None`` if the server fails on it. ``options``: how the SDK asks."""
    try:
        return request("GET", address, params=parameters, request_options=options)
    except ApiError as error:
        if (error.status_code or 0) < FIRST_SERVER_ERROR:
            raise
        return None


def _ids(people: Any) -> list[int]:  # noqa: ANN401 - Label Studio gives ids or objects
    return [person["user_id"] if isinstance(person, dict) else person for person in people or []]
