"""What a run knows of a project that it has pushed."""

from __future__ import annotations

from abcdlink.corpus.records import Record
from abcdlink.layout import project_file
from abcdlink.store import Store

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
