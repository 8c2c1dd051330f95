"""A Label Studio project: found by its id or title, created once, each task in it once, however often this runs."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from string import ascii_uppercase
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from pydantic import Field

from abcdlink.corpus.records import Record
from abcdlink.errors import ServiceError
from labelstudio_config.client import CLOSED, TO_DO, Client
from labelstudio_config.history import key_of

TITLE_LIMIT = 50 - max(len(TO_DO), len(CLOSED)) - len(" · A")
"""Longest title, in characters: Label Studio takes 50, with what it begins with, and what tells annotators' own
projects apart."""

COLORS = {TO_DO: "#2F6FDE", CLOSED: "#9A9A9A"}

TAB = "Annotate"
"""The tab that keeps the tasks of one pair together.

The button "Label All Tasks" of Label Studio gives a second annotator the tasks of the first in random
order; labelling from a tab with an order goes through them one after the other."""

STYLE = Path(__file__).with_name("style.css")

STYLE_TAG = "<Style>"
"""Every label config has this element, for what only its own page needs."""

TELLS_NOTHING = (
    *("id", "annotations_results", "annotations_ids", "predictions_score", "predictions_model_versions"),
    *("predictions_results", "total_predictions", "file_upload", "storage_filename", "created_at", "updated_at"),
    *("updated_by", "draft_exists", "annotators", "total_annotations", "cancelled_annotations", "avg_lead_time"),
    *("comment_authors", "comment_count", "unresolved_comment_count", "data.task_key"),
)
"""Columns of the tab's table that tell an annotator nothing, or what others did."""


class Project(Record):
    """What a project of Label Studio is made with.

    ``label_config``: XML; the look that all pages share is added to it. ``instruction``: HTML that
    annotators see first. ``overlap``: annotators who judge each task. ``hidden``: fields of the task
    data that the list of tasks does not show.
    """

    title: str = Field(max_length=TITLE_LIMIT + len(" · A"))
    description: str
    label_config: str
    instruction: str
    overlap: int = Field(ge=1)
    hidden: tuple[str, ...] = ()


class Asked(NamedTuple):
    """What people are asked: a project and its tasks, key -> data, in the order in which people get them.

    ``needed``: people whom a task waits for, where more may do it; ``None``: all who may. ``projects``: in how
    many projects the same tasks are; each annotator has their own where there is more than one.
    """

    project: Project
    tasks: dict[str, dict[str, Any]]
    needed: int | None = None
    projects: int = 1


@cache
def with_style(page: str) -> str:
    """Return a label config (XML) with the rules of ``style.css`` before those of its own ``<Style>``."""
    rules = escape(STYLE.read_text(encoding="utf-8"))
    return page.replace(STYLE_TAG, f"{STYLE_TAG}\n{rules}", 1)


def title_of(run_key: str, what: str) -> str:
    """Return a project's title, e.g. of ``batch 1``; a long run key is cut and made unique by its hash."""
    title = f"{run_key} · {what}"
    if len(title) <= TITLE_LIMIT:
        return title
    ending = f"~{hashlib.sha256(run_key.encode()).hexdigest()[:8]} · {what}"
    return run_key[: TITLE_LIMIT - len(ending)] + ending


MOST_ANNOTATORS = len(ascii_uppercase)
"""Annotators who can have projects of their own with the same tasks."""


def own_title(title: str, number: int) -> str:
    """Return the title of one annotator's own project; they are numbered from 0."""
    return f"{title} · {ascii_uppercase[number]}"


def find_project(client: Client, title: str, known: int | None = None, made: str = "") -> int | None:
    """Return the id of a project, or ``None``. Of several with this title the oldest counts.

    Args:
        client: the server.
        title: that the project was made with.
        known: its id, by which it is found although somebody gave it another title.
        made: when Label Studio made it: another server gives the same ids again.
    """
    there = None if known is None else client.project(known)
    if known is not None and there is not None and (there[0] == title or (made and there[1] == made)):
        return known
    return next(iter(client.projects_titled(title)), None)


def set_state(client: Client, project: int, title: str, state: str) -> None:
    """Mark a project as to do (``TO_DO``) or ``CLOSED`` in its title; one that is gone is no error."""
    if client.project(project) is not None:
        client.retitle(project, state + title, COLORS[state])


def require_project(client: Client, title: str) -> int:
    """Return the id of a project.

    Raises:
        ServiceError: when there is none.
    """
    project = find_project(client, title)
    if project is None:
        msg = f"Label Studio at {client.url} has no project {title!r}"
        raise ServiceError(msg, "push it again, or restore the project")
    return project


def ensure_project(client: Client, project: Project, known: int | None = None) -> int:
    """Return the id of a project; make it when it is not there. It shows the newest instruction.

    ``known``: its id, if it exists; somebody may have given it another title.

    Two processes may do this at once: both look again after making, keep the oldest, and the empty
    later one goes.
    """
    if known is not None:
        client.show_instruction(known, project.instruction)
        return known
    before = client.projects_titled(project.title)
    if not before:
        client.create_project(
            title=TO_DO + project.title,
            description=project.description,
            label_config=with_style(project.label_config),
            expert_instruction=project.instruction,
            show_instruction=True,
            maximum_annotations=project.overlap,
            sampling="Sequential sampling",
            show_skip_button=False,
            enable_empty_annotation=False,
            show_collab_predictions=False,
            show_annotation_history=False,
            color=COLORS[TO_DO],
        )
    oldest, *later = (same := client.projects_titled(project.title))
    for copy in later:
        if not same[copy]:
            client.delete_project(copy)
    if before:
        client.show_instruction(oldest, project.instruction)
    return oldest


def annotate_url(client: Client, project: int, hidden: tuple[str, ...] = (), *, own: bool = False) -> str:
    """Return the address where annotators begin to label; makes the project's tab when it is not there.

    ``own``: each task is for one person; then the tab shows open tasks only.
    """
    tab = next((tab["id"] for tab in client.tabs(project) if tab["data"].get("title") == TAB), None)
    if tab is None:
        columns = [f"tasks:{column}" for column in (*TELLS_NOTHING, *(f"data.{field}" for field in hidden))]
        data: dict[str, Any] = {"title": TAB, "type": "list", "target": "tasks", "ordering": ["tasks:id"]}
        if own:
            only = {"filter": "filter:tasks:completed_at", "operator": "empty", "type": "Datetime", "value": True}
            data["filters"] = {"conjunction": "and", "items": [only]}
        tab = client.create_tab(project, {**data, "hiddenColumns": {"explore": columns, "labeling": []}})
    return f"{client.url}/projects/{project}/data?tab={tab}&labeling=1"


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
    """Bring tasks into a project; existing ones stay untouched.

    Label Studio knows no unique key; a call that it answered too late may be sent again, and two may
    push at once. So the tasks are counted afterwards; when there are more or less than there should be,
    they are read back, and of tasks with the same key the first one stays.

    Args:
        client: the server.
        project: where the tasks go; made when it is not there.
        tasks: task key -> data, in the order in which annotators get them.
        known: id of the project if it exists, whatever its title is now.

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
        url=annotate_url(client, at, project.hidden, own=project.overlap == 1),
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
        raise ServiceError(msg, "check its log and push again; existing tasks are not pushed twice")
