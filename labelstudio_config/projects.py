"""A Label Studio project: found by its title, made once, with the guidelines in it."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from xml.sax.saxutils import escape

from pydantic import Field

from abcdlink.corpus.records import Record
from abcdlink.errors import ServiceError
from labelstudio_config.client import Client

TITLE_LIMIT = 50
"""Longest project title that Label Studio takes, in characters."""

TAB = "Annotate"
"""The tab that keeps the tasks of one pair together.

The button "Label All Tasks" of Label Studio gives a second annotator the tasks of the first in random
order; labelling from a tab with an order goes through them one after the other.
"""

STYLE = Path(__file__).with_name("style.css")

STYLE_TAG = "<Style>"
"""Every label config has this element, for what only its own page needs."""

TELLS_NOTHING = (
    *("id", "annotations_results", "annotations_ids", "predictions_score", "predictions_model_versions"),
    *("predictions_results", "total_predictions", "file_upload", "storage_filename", "created_at", "updated_at"),
    *("updated_by", "draft_exists", "data.task_key"),
)
"""Columns of the tab's table that tell an annotator nothing."""


class Project(Record):
    """What a project of Label Studio is made with.

    ``label_config``: XML; the look that all pages share is added to it. ``instruction``: HTML that
    annotators see first. ``overlap``: annotators who judge each task. ``hidden``: fields of the task
    data that the list of tasks does not show.
    """

    title: str = Field(max_length=TITLE_LIMIT)
    description: str
    label_config: str
    instruction: str
    overlap: int = Field(ge=1)
    hidden: tuple[str, ...] = ()


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


def require_project(client: Client, title: str) -> int:
    """Return the id of a project.

    Raises:
        ServiceError: when there is none.
    """
    project = find_project(client, title)
    if project is None:
        msg = f"Label Studio at {client.url} has no project {title!r}"
        raise ServiceError(msg, "push it again, or bring the project back")
    return project


def ensure_project(client: Client, project: Project, known: int | None = None) -> int:
    """Return the id of a project; make it when it is not there. It shows the newest instruction.

    ``known``: its id, where it is known to be there; somebody may have given it another title.

    Two processes may do this at once: both look again after making, keep the oldest, and the empty
    later one goes.
    """
    if known is not None:
        client.show_instruction(known, project.instruction)
        return known
    before = client.projects_titled(project.title)
    if not before:
        client.create_project(
            title=project.title,
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
            color="#2F6FDE",
        )
    oldest, *later = (same := client.projects_titled(project.title))
    for copy in later:
        if not same[copy]:
            client.delete_project(copy)
    if before:
        client.show_instruction(oldest, project.instruction)
    return oldest


def annotate_url(client: Client, project: int, hidden: tuple[str, ...] = ()) -> str:
    """Return the address where annotators begin to label; makes the project's tab when it is not there."""
    tab = next((tab["id"] for tab in client.tabs(project) if tab["data"].get("title") == TAB), None)
    if tab is None:
        columns = [f"tasks:{column}" for column in (*TELLS_NOTHING, *(f"data.{field}" for field in hidden))]
        data = {"title": TAB, "type": "list", "target": "tasks", "ordering": ["tasks:id"]}
        tab = client.create_tab(project, {**data, "hiddenColumns": {"explore": columns, "labeling": []}})
    return f"{client.url}/projects/{project}/data?tab={tab}&labeling=1"
