"""Projects of a run: pushed once, then looked at, for every kind of work. Nothing that was ever read is lost.

What a run knows of a project is under its slug (``batch-1``, ``adjudication``) in the run's folder: the project
(``pushed.json``), the tasks as they were pushed, what every look read of them and of the answers, and what was
already said to look wrong.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from string import ascii_uppercase
from typing import Any

from filelock import FileLock
from pydantic import Field, model_validator

from abcdlink.corpus.records import Record
from abcdlink.layout import ANOMALIES, project_file
from abcdlink.locks import lock_of
from abcdlink.qualify.screening import note_participants
from abcdlink.settings import get_settings
from abcdlink.store import Store
from labelstudio_config.client import CLOSED, TO_DO, Client, collection_paused, connect, public
from labelstudio_config.history import History, digest_of, key_of, remember
from labelstudio_config.projects import Asked, Project, PushResult, find_project, own_title, push_tasks, set_state
from labelstudio_config.snapshot import PushedCopy, Snapshot, open_keys, snapshot_of

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

    ``requeued``: ids of annotations that we took away ourselves.

    Raises:
        ServiceError: when Label Studio does not answer.
    """
    with lock_of(f"{store.key}+{pushed.slug}"):
        before = _read_history(store, pushed.slug)
        found = (find_project(client, one.title, one.project_id, one.made) for one in pushed.projects)
        there = [project for project in found if project is not None]
        tasks = [{**task, "project": project} for project in there for task in client.tasks(project)]
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


def push_back(store: Store, client: Client, pushed: PushedProject, snapshot: Snapshot) -> PushedProject:
    """Push the tasks again that are gone before enough annotators had answered them; return where all are now.

    A deleted project is made again, with these tasks only.
    """
    missing = _missing(pushed, snapshot)
    name = project_file(pushed.slug, TASKS)
    if not any(missing) or not store.exists(name):
        return pushed
    kept = json.loads(lzma.decompress(store.folder.read(name)))
    projects = list(pushed.projects)
    for number, (one, keys) in enumerate(zip(pushed.projects, missing, strict=True)):
        back = {key: kept["tasks"][key] for key in keys if key in kept["tasks"]}
        if back:
            project = _own(Project.model_validate(kept["project"]), number, len(projects))
            at = find_project(client, one.title, one.project_id, one.made)
            projects[number] = _at(project, push_tasks(client, project, back, at))
    return pushed.model_copy(update={"projects": tuple(projects)})


def _missing(pushed: PushedProject, snapshot: Snapshot) -> list[list[str]]:
    """Return for each project the keys that it lacks and without which a task cannot be answered often enough."""
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
    """Return the project of one annotator; the same project where there is only one."""
    if of == 1:
        return project
    return project.model_copy(update={"title": own_title(project.title, number), "overlap": 1})


def _at(project: Project, result: PushResult) -> ProjectAt:
    return ProjectAt(title=project.title, project_id=result.project_id, url=result.url, made=result.made)


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


def push_project(store: Store, slug: str, asked: Asked) -> PushedProject:
    """Bring tasks into their projects, or return what is known of the projects that were pushed before."""
    with _pushing(store, slug):
        return _push_once(store, slug, asked)


def _pushing(store: Store, slug: str) -> FileLock:
    """Return the lock by which two processes do not push one project twice."""
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
            projects=tuple(_at(project, push_tasks(client, project, asked.tasks)) for project in projects),
            home=client.home() if len(projects) > 1 else "",
        )
        keep_pushed(store, pushed)
    return read_pushed(store, slug)


def push_more(store: Store, slug: str, asked: Asked) -> PushedProject:
    """Bring those tasks into their project that were not pushed before; all are waited for then."""
    with _pushing(store, slug):
        pushed = _push_once(store, slug, asked)
        new = {key: data for key, data in asked.tasks.items() if key not in pushed.task_keys}
        if not new:
            return pushed
        # Existing tasks stay as they were pushed, whatever they would look like now.
        keep_tasks(store, slug, asked.project, asked.tasks | tasks_kept(store, slug))
        client, (one,) = label_studio(), pushed.projects
        known = find_project(client, one.title, one.project_id, one.made)
        at = _at(asked.project, push_tasks(client, asked.project, new, known))
        keep_pushed(store, pushed.model_copy(update={"projects": (at,), "task_keys": (*pushed.task_keys, *new)}))
        return let_titles_say(store, slug, closed=False)


def let_titles_say(store: Store, slug: str, *, closed: bool) -> PushedProject:
    """Let the titles of pushed projects say whether they are closed or to do; no call when they already do."""
    pushed = read_pushed(store, slug)
    if pushed.closed is closed:
        return pushed
    client = label_studio()
    for one in pushed.projects:
        set_state(client, one.project_id, one.title, CLOSED if closed else TO_DO)
    pushed = pushed.model_copy(update={"closed": closed})
    keep_pushed(store, pushed)
    return pushed


def look_now(store: Store, slug: str) -> tuple[PushedProject, Snapshot]:
    """Read and keep what is in Label Studio for a project, and push back the unfinished tasks that are gone."""
    with _pushing(store, slug):
        client, pushed = label_studio(), read_pushed(store, slug)
        snapshot = look_at(store, client, pushed)
        back = push_back(store, client, pushed, snapshot)
        if back is pushed:
            return pushed, snapshot
        keep_pushed(store, back)
        return back, look_at(store, client, back)


def last_look(store: Store, slug: str) -> Snapshot:
    """Return what counted of a project at the last look, by which it was complete; look where nobody has."""
    pushed = read_pushed(store, slug)
    return known_so_far(store, pushed) or look_at(store, label_studio(), pushed)
