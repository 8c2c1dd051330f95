"""Projects in Label Studio: each project and each of its tasks is created once, however often this runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from filelock import FileLock

from abcdlink.errors import ServiceError
from abcdlink.locks import lock_of
from abcdlink.store import Store
from labelstudio_config.client import CLOSED, TO_DO, Client
from labelstudio_config.history import key_of
from labelstudio_config.pages import Asked, Project, own_title, with_style
from labelstudio_config.progress import open_keys
from labelstudio_config.run import (
    ProjectAt,
    PushedProject,
    find_project,
    is_pushed,
    keep_pushed,
    keep_tasks,
    label_studio,
    look_at,
    pushed_tasks,
    read_pushed,
    tasks_kept,
)
from labelstudio_config.snapshot import Snapshot

COLORS = {TO_DO: "#2F6FDE", CLOSED: "#9A9A9A"}

TAB = "Annotate"
"""The tab that keeps the tasks of one pair together.

The button "Label All Tasks" of Label Studio gives a second annotator the tasks of the first in random
order; labelling from a tab with an order goes through them one after the other."""

TELLS_NOTHING = (
    *("id", "annotations_results", "annotations_ids", "predictions_score", "predictions_model_versions"),
    *("predictions_results", "total_predictions", "file_upload", "storage_filename", "created_at", "updated_at"),
    *("updated_by", "draft_exists", "annotators", "total_annotations", "cancelled_annotations", "avg_lead_time"),
    *("comment_authors", "comment_count", "unresolved_comment_count", "data.task_key"),
)
"""Columns of the tab's table that mean nothing to an annotator, or show what others did."""

CHUNK = 500
"""Tasks in one import call: 30 MB with documents of 150 sentences, of the 250 MB that Label Studio takes."""


def push_project(store: Store, slug: str, asked: Asked) -> PushedProject:
    """Push tasks into their projects, or return what is known of the projects that were pushed before."""
    with _pushing(store, slug):
        return _push_once(store, slug, asked)


def _pushing(store: Store, slug: str) -> FileLock:
    """Return the lock that keeps two processes from pushing the same project."""
    return lock_of(f"{store.key}+{slug}.push")


def _push_once(store: Store, slug: str, asked: Asked) -> PushedProject:
    if not is_pushed(store, slug):
        keep_tasks(store, slug, asked.project, asked.tasks)
        client = label_studio()
        projects = [_own(asked.project, number, asked.projects) for number in range(asked.projects)]
        pushed = PushedProject(
            slug=slug,
            overlap=asked.needed or asked.project.overlap,
            task_keys=tuple(asked.tasks),
            projects=tuple(push_tasks(client, project, asked.tasks) for project in projects),
            home=client.home() if len(projects) > 1 else "",
        )
        keep_pushed(store, pushed)
    return read_pushed(store, slug)


def push_more(store: Store, slug: str, asked: Asked) -> PushedProject:
    """Push the tasks that are new in a project; from then on the run waits for all of them."""
    with _pushing(store, slug):
        pushed = _push_once(store, slug, asked)
        new = {key: data for key, data in asked.tasks.items() if key not in pushed.task_keys}
        if not new:
            return pushed
        # Existing tasks stay as they were pushed, even if they would look different now.
        keep_tasks(store, slug, asked.project, asked.tasks | tasks_kept(store, slug))
        client, (one,) = label_studio(), pushed.projects
        known = find_project(client, one.title, one.project_id, one.made)
        at = push_tasks(client, asked.project, new, known)
        keep_pushed(store, pushed.model_copy(update={"projects": (at,), "task_keys": (*pushed.task_keys, *new)}))
        return let_titles_say(store, slug, closed=False)


def push_tasks(
    client: Client, project: Project, tasks: Mapping[str, Mapping[str, Any]], known: int | None = None
) -> ProjectAt:
    """Push tasks into a project, and return where it is; tasks that are there already stay untouched.

    Label Studio knows no unique key; a call that it answered too late may be sent again, and two may push at once. So
    the tasks are counted afterwards; when there are more or less than there should be, they are read back, and of tasks
    with the same key the first one stays. ``tasks``: task key -> data, in the order in which annotators see them.
    ``known``: id of the project, if it exists, whatever its title is now.

    Raises:
        ServiceError: when Label Studio does not do its part.
    """
    at = ensure_project(client, project, known)
    try:
        return _fill(client, project, at, tasks)
    except ServiceError:
        if known is not None or client.project(at) is not None:
            raise
        # Who pushed at the same time took this project for the later of two, and deleted it.
        return _fill(client, project, ensure_project(client, project), tasks)


def _fill(client: Client, project: Project, at: int, tasks: Mapping[str, Mapping[str, Any]]) -> ProjectAt:
    held = client.counts(at)[0]
    before = _tasks_by_key(client, at) if held else {}
    missing = [{"data": {"task_key": key, **data}} for key, data in tasks.items() if key not in before]
    for start in range(0, len(missing), CHUNK):
        client.import_tasks(at, missing[start : start + CHUNK])
    # With the right number of tasks, nothing is there twice, and the tasks need not be read.
    if (client.counts(at)[0] if missing else held) != len(before) + len(missing):
        _keep_first_of_each(client, at, tasks.keys())
    return ProjectAt(
        title=project.title,
        project_id=at,
        made=(client.project(at) or ("", ""))[1],
        url=annotate_url(client, at, project.hidden, own=project.overlap == 1),
    )


def _tasks_by_key(client: Client, project: int) -> dict[str, list[tuple[int, bool]]]:
    """Return task key -> (task id, whether it has annotations or drafts), lowest id first."""
    found: defaultdict[str, list[tuple[int, bool]]] = defaultdict(list)
    for task in sorted(client.tasks(project), key=lambda task: int(task["id"])):
        begun = bool(task["annotations"] or task["drafts"])
        found[key_of(task)].append((task["id"], begun))
    return dict(found)


def _keep_first_of_each(client: Client, project: int, wanted: Iterable[str]) -> None:
    """Remove later tasks with the same key, unless someone has begun one; check that none is missing."""
    found = _tasks_by_key(client, project)
    for key in found.keys() & wanted:
        for task, begun in found[key][1:]:
            if not begun:
                client.delete_task(task)
    lost = set(wanted) - found.keys()
    if lost:
        msg = f"Label Studio at {client.url} accepted the tasks of project {project}, but {len(lost)} are missing"
        raise ServiceError(msg, "check its log and push again; existing tasks are not pushed twice")


def ensure_project(client: Client, project: Project, known: int | None = None) -> int:
    """Return the id of a project, created if it does not exist. It shows the newest instructions.

    ``known``: its id, if it exists; somebody may have changed its title.

    Two processes may do this at once: both look again after creating it, keep the oldest, and delete the empty
    later one.
    """
    if known is not None:
        client.change_project(known, expert_instruction=project.instruction)
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
        client.change_project(oldest, expert_instruction=project.instruction)
    return oldest


def annotate_url(client: Client, project: int, hidden: tuple[str, ...] = (), *, own: bool = False) -> str:
    """Return the address where annotators start to label; creates the project's tab if it does not exist.

    ``own``: each task is for one person; the tab then shows only open tasks.
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


def let_titles_say(store: Store, slug: str, *, closed: bool) -> PushedProject:
    """Mark pushed projects as closed or to do in their titles; makes no call if they already are."""
    pushed = read_pushed(store, slug)
    if pushed.closed is closed:
        return pushed
    client = label_studio()
    state = CLOSED if closed else TO_DO
    for one in pushed.projects:
        if client.project(one.project_id) is not None:
            client.change_project(one.project_id, title=state + one.title, color=COLORS[state])
    pushed = pushed.model_copy(update={"closed": closed})
    keep_pushed(store, pushed)
    return pushed


def look_now(store: Store, slug: str) -> tuple[PushedProject, Snapshot]:
    """Read and store what is in Label Studio for a project, and push missing unfinished tasks again."""
    with _pushing(store, slug):
        client, pushed = label_studio(), read_pushed(store, slug)
        snapshot = look_at(store, client, pushed)
        back = push_back(store, client, pushed, snapshot)
        if back is pushed:
            return pushed, snapshot
        keep_pushed(store, back)
        return back, look_at(store, client, back)


def push_back(store: Store, client: Client, pushed: PushedProject, snapshot: Snapshot) -> PushedProject:
    """Push again the tasks that disappeared before enough annotators had answered; return where all are now.

    A deleted project is created again, with only these tasks.
    """
    missing = _missing(pushed, snapshot)
    if not any(missing) or not (kept := pushed_tasks(store, pushed.slug)):
        return pushed
    projects = list(pushed.projects)
    for number, (one, keys) in enumerate(zip(pushed.projects, missing, strict=True)):
        back = {key: kept.tasks[key] for key in keys if key in kept.tasks}
        if back:
            project = _own(kept.project, number, len(projects))
            at = find_project(client, one.title, one.project_id, one.made)
            projects[number] = push_tasks(client, project, back, at)
    return pushed.model_copy(update={"projects": tuple(projects)})


def _missing(pushed: PushedProject, snapshot: Snapshot) -> list[list[str]]:
    """Return, for each project, the missing keys without which a task cannot be answered often enough."""
    unfinished = open_keys(snapshot, pushed.task_keys, pushed.overlap)
    there = {(task["project"], key_of(task)): bool(task["annotations"]) for task in snapshot.history.tasks}
    missing: list[list[str]] = [[] for _ in pushed.projects]
    for key in unfinished:
        lacking = [number for number, one in enumerate(pushed.projects) if (one.project_id, key) not in there]
        wanted = len(lacking)
        if len(pushed.projects) > 1:
            offered = sum(there.get((one.project_id, key)) is False for one in pushed.projects)
            wanted = pushed.overlap - len(snapshot.accounts_of(key)) - offered
        for number in lacking[: max(wanted, 0)]:
            missing[number].append(key)
    return missing


def _own(project: Project, number: int, of: int) -> Project:
    """Return the project of one annotator; if there is only one project, that one."""
    if of == 1:
        return project
    return project.model_copy(update={"title": own_title(project.title, number), "overlap": 1})
