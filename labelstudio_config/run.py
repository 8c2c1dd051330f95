"""What a run knows of its Label Studio projects, and how it reads them; nothing that was ever read is lost.

Each project has a folder in the run, named by its slug (``batch-1``, ``adjudication``): ``pushed.json``, the
tasks as they were pushed, every version of them and of the answers that was read, and the anomalies already reported.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from string import ascii_uppercase
from typing import Any

from pydantic import BaseModel, Field, ValidationError, model_validator

from abcdlink.corpus.records import Record
from abcdlink.errors import AbcdlinkError, InputError, ServiceError, fault_in
from abcdlink.layout import ANOMALIES, project_file
from abcdlink.locks import lock_of
from abcdlink.qualify.screening import note_participants
from abcdlink.settings import get_settings
from abcdlink.store import Store
from abcdlink.waiting import WaitsFor, all_waiting
from abcdlink.whatnow import Surroundings
from labelstudio_config.client import Client, collection_paused, connect, public
from labelstudio_config.history import History, digest_of, remember, require_tasks
from labelstudio_config.pages import Project, own_title
from labelstudio_config.snapshot import PushedCopy, Snapshot, snapshot_of

PUSHED = "pushed.json"


class ProjectAt(Record):
    """A project that is in Label Studio.

    ``title``: without its prefix there (``TO_DO``). ``made``: when Label Studio created it, which tells it
    from another project with the same id on another server.
    """

    title: str
    project_id: int
    url: str
    made: str = ""


class PushedProject(Record):
    """Tasks that are in Label Studio. ``overlap``: annotators that each task needs.

    ``projects``: one, where whoever opens it shares its queue; or several with the same tasks, one for each
    annotator. ``home``: the address that leads each to theirs, if the server has one. ``closed``: the titles say so.
    ``task_keys``: of the tasks. A field named ``keys`` would make Prefect take the record for a mapping.
    """

    slug: str
    overlap: int
    task_keys: tuple[str, ...]
    projects: tuple[ProjectAt, ...] = Field(min_length=1)
    home: str = ""
    closed: bool = False

    @model_validator(mode="before")
    @classmethod
    def _of_one_project(cls, values: Any) -> Any:  # noqa: ANN401 - whatever was kept
        """Read the form from when a run had only one project."""
        if isinstance(values, dict) and "project_id" in values:
            own = {name: value for name, value in values.items() if name in ProjectAt.model_fields}
            return {**{name: value for name, value in values.items() if name not in own}, "projects": (own,)}
        return values

    @property
    def title(self) -> str:
        """The title of the first project; the others differ at the end."""
        return self.projects[0].title

    @property
    def shared_title(self) -> str:
        """The title without the letter of an annotator's own project."""
        return self.title.removesuffix(own_title("", 0)) if len(self.projects) > 1 else self.title

    @property
    def project_id(self) -> int:
        """The id of the first project."""
        return self.projects[0].project_id

    @property
    def url(self) -> str:
        """Where annotators start, as one text: a link for all, or one for each annotator."""
        if self.home or len(self.projects) == 1:
            return public(self.home or self.projects[0].url)
        links = zip(ascii_uppercase, map(public, (one.url for one in self.projects)), strict=False)
        return "; ".join(f"{letter}: {url}" for letter, url in links)


def keep_pushed(store: Store, pushed: PushedProject) -> None:
    """Store what is known of a pushed project."""
    store.write_record(project_file(pushed.slug, PUSHED), pushed)


def is_pushed(store: Store, slug: str) -> bool:
    """Tell whether a project of the run was pushed."""
    return store.exists(project_file(slug, PUSHED))


def read_pushed(store: Store, slug: str) -> PushedProject:
    """Return what the run knows of a pushed project."""
    return store.read_record(project_file(slug, PUSHED), PushedProject)


def pushed_slugs(store: Store) -> list[str]:
    """Return the slugs of all pushed projects of a run."""
    names = store.folder.names(project_file("", "").rstrip("/") + "/")
    return [name.split("/")[-2] for name in names if name.endswith(f"/{PUSHED}")]


TASKS = "tasks.json.xz"
DIGESTS = "digests.json"
SNAPSHOT = "snapshot.json"


def keep_tasks(store: Store, slug: str, project: Project, tasks: Mapping[str, Mapping[str, Any]]) -> None:
    """Store what is about to be pushed, documents included, so that it can be pushed again.

    The documents of a pair are in each of its tasks: compressed, they take the space of one.
    """
    store.folder.remove(project_file(slug, DIGESTS))
    text = json.dumps({"project": project.model_dump(), "tasks": tasks}, ensure_ascii=False)
    store.folder.write(project_file(slug, TASKS), lzma.compress(text.encode(), preset=0))


class PushedTasks(BaseModel):
    """A project and the data of its tasks by key, as they were pushed."""

    project: Project
    tasks: dict[str, dict[str, Any]]


def pushed_tasks(store: Store, slug: str) -> PushedTasks | None:
    """Return what was pushed; ``None`` where it was not kept."""
    name = project_file(slug, TASKS)
    if not store.exists(name):
        return None
    try:
        return PushedTasks.model_validate_json(lzma.decompress(store.folder.read(name)))
    except (lzma.LZMAError, EOFError) as error:
        fault = str(error)
    except ValidationError as error:
        fault = fault_in(error)
    msg = f"{store.where(name)} does not hold the tasks as they were pushed: {fault}"
    raise InputError(msg, "restore the file from a copy, or remove it: tasks deleted there cannot be pushed back then")


def pushed_copy(store: Store, slug: str) -> PushedCopy:
    """Return what the tasks of a project are compared with; digests are computed once."""
    name = project_file(slug, DIGESTS)
    if not store.exists(name):
        digests = {key: digest_of({"task_key": key, **data}) for key, data in tasks_kept(store, slug).items()}
        store.write_json(name, digests)
    return PushedCopy(store.read_json(name, dict[str, str]), lambda: tasks_kept(store, slug))


def label_studio() -> Client:
    """Connect to the Label Studio that the settings name."""
    settings = get_settings()
    return connect(settings.label_studio_url, settings.label_studio_token.get_secret_value())


def surroundings(store: Store, ui: str) -> Surroundings:
    """Return what the servers know of a run, for its coordinator; ``ui``: address of Prefect's UI, if there is one.

    Its invitation is empty if nobody needs one or Label Studio is down.
    """
    invitation = ""
    if any(waiting.kind is WaitsFor.ANNOTATORS for _, waiting in all_waiting(store)):
        with suppress(AbcdlinkError):
            invitation = label_studio().invitation()
    return Surroundings(invitation=invitation, pages=f"{ui}/runs/flow-run/", accounts=True)


def find_project(client: Client, title: str, known: int | None = None, made: str = "") -> int | None:
    """Return the id of a project, or ``None``. If several have this title, the oldest counts.

    ``known``: its id, which finds it even if somebody changed its title; ``made``: when Label Studio created it, since
    another server uses the same ids again.
    """
    there = None if known is None else client.project(known)
    if known is not None and there is not None and (there[0] == title or (made and there[1] == made)):
        return known
    return next(iter(client.projects_titled(title)), None)


def require_project(client: Client, title: str) -> int:
    """Return the id of a project; raises ``ServiceError`` when there is none."""
    project = find_project(client, title)
    if project is None:
        msg = f"Label Studio at {client.url} has no project {title!r}"
        raise ServiceError(msg, "push it again, or restore the project")
    return project


def tasks_kept(store: Store, slug: str) -> dict[str, dict[str, Any]]:
    """Return the data of the tasks as they were pushed, by key; empty if they were not stored."""
    kept = pushed_tasks(store, slug)
    return kept.tasks if kept else {}


@collection_paused()
def look_at(store: Store, client: Client, pushed: PushedProject, requeued: Collection[int] = ()) -> Snapshot:
    """Read and store what is in Label Studio for a project; returns what counts.

    ``requeued``: ids of annotations that we removed ourselves.

    Raises:
        ServiceError: when Label Studio does not answer.
    """
    with lock_of(f"{store.key}+{pushed.slug}"):
        before = _read_history(store, pushed.slug)
        found = (find_project(client, one.title, one.project_id, one.made) for one in pushed.projects)
        there = [project for project in found if project is not None]
        tasks = require_tasks({**task, "project": project} for project in there for task in client.tasks(project))
        kept = remember(before, there, tasks, client.accounts(), datetime.now(UTC), requeued)
        if kept != before:
            store.write_record(project_file(pushed.slug, SNAPSHOT), kept, indent=None)
    snapshot = snapshot_of(kept, pushed.task_keys, pushed_copy(store, pushed.slug))
    note_participants(store, client.participants(), {snapshot.account(user) for _, user in snapshot.answers})
    return snapshot


@collection_paused()
def known_so_far(store: Store, pushed: PushedProject) -> Snapshot | None:
    """Return what counted when Label Studio was last read; ``None`` if it never was."""
    kept = _read_history(store, pushed.slug)
    return None if kept is None else snapshot_of(kept, pushed.task_keys, pushed_copy(store, pushed.slug))


def _read_history(store: Store, slug: str) -> History | None:
    return store.find_record(project_file(slug, SNAPSHOT), History)


def last_look(store: Store, slug: str) -> Snapshot:
    """Return what counted of a complete project when it was last read; read it if it never was."""
    pushed = read_pushed(store, slug)
    return known_so_far(store, pushed) or look_at(store, label_studio(), pushed)


def not_said_yet(store: Store, slug: str, anomalies: Sequence[str]) -> list[str]:
    """Return what has not been reported before, and note that it now has."""
    name = project_file(slug, ANOMALIES)
    before = store.read_json(name, list[str]) if store.exists(name) else []
    new = [line for line in anomalies if line not in before]
    if new:
        store.write_json(name, [*before, *new])
    return new
