"""What a run knows of its Label Studio projects, and looks at them; nothing that was ever read is lost.

It is under the project's slug (``batch-1``, ``adjudication``) in the run's folder: the project (``pushed.json``), the
tasks as they were pushed, what every look read of them and of the answers, and what was already said to look wrong.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from string import ascii_uppercase
from typing import Any

from pydantic import BaseModel, Field, ValidationError, model_validator

from abcdlink.corpus.records import Record
from abcdlink.errors import InputError, ServiceError, fault_in
from abcdlink.layout import ANOMALIES, project_file
from abcdlink.locks import lock_of
from abcdlink.qualify.screening import note_participants
from abcdlink.settings import get_settings
from abcdlink.store import Store
from labelstudio_config.client import Client, collection_paused, connect, public
from labelstudio_config.history import History, digest_of, remember, require_tasks
from labelstudio_config.pages import Project, own_title
from labelstudio_config.snapshot import PushedCopy, Snapshot, snapshot_of

PUSHED = "pushed.json"


class ProjectAt(Record):
    """A project that is in Label Studio.

    ``title``: without what it begins with there (``TO_DO``). ``made``: when Label Studio made it, which tells it
    from another project with the same id on another server.
    """

    title: str
    project_id: int
    url: str
    made: str = ""


class PushedProject(Record):
    """Tasks that are in Label Studio. ``overlap``: annotators whom each task waits for.

    ``projects``: one, where whoever opens it shares its queue; or several with the same tasks, one for each
    annotator. ``home``: the address that leads each to theirs, where the server has it. ``closed``: titles say so.
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
        """Read what was kept while there was one project only."""
        if isinstance(values, dict) and "project_id" in values:
            own = {name: value for name, value in values.items() if name in ProjectAt.model_fields}
            return {**{name: value for name, value in values.items() if name not in own}, "projects": (own,)}
        return values

    @property
    def title(self) -> str:
        """The title of the first project; those of the others differ at the end."""
        return self.projects[0].title

    @property
    def shared_title(self) -> str:
        """The title without what tells annotators' own projects apart."""
        return self.title.removesuffix(own_title("", 0)) if len(self.projects) > 1 else self.title

    @property
    def project_id(self) -> int:
        """The id of the first project."""
        return self.projects[0].project_id

    @property
    def url(self) -> str:
        """Where annotators begin, as one text: a link for all, or one for each annotator."""
        if self.home or len(self.projects) == 1:
            return public(self.home or self.projects[0].url)
        links = zip(ascii_uppercase, map(public, (one.url for one in self.projects)), strict=False)
        return "; ".join(f"{letter}: {url}" for letter, url in links)


def keep_pushed(store: Store, pushed: PushedProject) -> None:
    """Keep what is known of a project that was pushed."""
    store.write_record(project_file(pushed.slug, PUSHED), pushed)


def is_pushed(store: Store, slug: str) -> bool:
    """Tell whether a project of the run was pushed."""
    return store.exists(project_file(slug, PUSHED))


def read_pushed(store: Store, slug: str) -> PushedProject:
    """Return what the run knows of a project that was pushed."""
    return store.read_record(project_file(slug, PUSHED), PushedProject)


def pushed_slugs(store: Store) -> list[str]:
    """Return the names of all projects of a run that were pushed."""
    names = store.folder.names(project_file("", "").rstrip("/") + "/")
    return [name.split("/")[-2] for name in names if name.endswith(f"/{PUSHED}")]


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


class KeptTasks(BaseModel):
    """A project and the data of its tasks by key, as they were pushed."""

    project: Project
    tasks: dict[str, dict[str, Any]]


def push_kept(store: Store, slug: str) -> KeptTasks | None:
    """Return what was pushed; ``None`` where it was not kept."""
    name = project_file(slug, TASKS)
    if not store.exists(name):
        return None
    try:
        return KeptTasks.model_validate_json(lzma.decompress(store.folder.read(name)))
    except (lzma.LZMAError, EOFError) as error:
        fault = str(error)
    except ValidationError as error:
        fault = fault_in(error)
    msg = f"{store.where(name)} does not hold the tasks as they were pushed: {fault}"
    raise InputError(msg, "restore the file from a copy, or remove it: tasks deleted there cannot be pushed back then")


def pushed_copy(store: Store, slug: str) -> PushedCopy:
    """Return what the tasks of a project are compared with; their digests are computed once."""
    name = project_file(slug, DIGESTS)
    if not store.exists(name):
        digests = {key: digest_of({"task_key": key, **data}) for key, data in tasks_kept(store, slug).items()}
        store.write_json(name, digests)
    return PushedCopy(store.read_json(name, dict[str, str]), lambda: tasks_kept(store, slug))


def label_studio() -> Client:
    """Connect to the Label Studio of the settings."""
    settings = get_settings()
    return connect(settings.label_studio_url, settings.label_studio_token.get_secret_value())


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
        raise ServiceError(msg, "push it again, or restore the project")
    return project


def tasks_kept(store: Store, slug: str) -> dict[str, dict[str, Any]]:
    """Return the data of the tasks as they were pushed, by key; empty where they were not kept."""
    kept = push_kept(store, slug)
    return kept.tasks if kept else {}


@collection_paused()
def look_at(store: Store, client: Client, pushed: PushedProject, requeued: Collection[int] = ()) -> Snapshot:
    """Read what is in Label Studio for a project and keep it; returns what counts.

    ``requeued``: ids of annotations that we took away ourselves.

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
    """Return what counted at the last look; ``None``: nobody looked yet."""
    kept = _read_history(store, pushed.slug)
    return None if kept is None else snapshot_of(kept, pushed.task_keys, pushed_copy(store, pushed.slug))


def _read_history(store: Store, slug: str) -> History | None:
    return store.find_record(project_file(slug, SNAPSHOT), History)


def last_look(store: Store, slug: str) -> Snapshot:
    """Return what counted of a project at the last look, by which it was complete; look where nobody has."""
    pushed = read_pushed(store, slug)
    return known_so_far(store, pushed) or look_at(store, label_studio(), pushed)


def not_said_yet(store: Store, slug: str, anomalies: Sequence[str]) -> list[str]:
    """Return what was not reported before, and note that it is now."""
    name = project_file(slug, ANOMALIES)
    before = store.read_json(name, list[str]) if store.exists(name) else []
    new = [line for line in anomalies if line not in before]
    if new:
        store.write_json(name, [*before, *new])
    return new
