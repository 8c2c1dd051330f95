"""How far a project is: which of its tasks enough people have answered."""

from __future__ import annotations

from collections.abc import Collection

from abcdlink.corpus.records import Record
from labelstudio_config.snapshot import Snapshot


class ProjectProgress(Record):
    """Progress of the annotators.

    ``tasks``: tasks that were pushed. ``done``: those that enough annotators submitted or skipped, in
    Label Studio or before the task was deleted there.
    """

    tasks: int
    done: int
    complete: bool

    @property
    def words(self) -> str:
        """How much is done, in words."""
        return f"{self.done} of {self.tasks} tasks done"


def progress_in(
    snapshot: Snapshot, keys: Collection[str], overlap: int, awaited: Collection[str] | None = None
) -> ProjectProgress:
    """Return the progress of a pushed project, in which each task needs answers as ``open_keys`` says."""
    done = len(keys) - len(open_keys(snapshot, keys, overlap, awaited))
    return ProjectProgress(tasks=len(keys), done=done, complete=done == len(keys))


def open_keys(
    snapshot: Snapshot, keys: Collection[str], overlap: int, awaited: Collection[str] | None = None
) -> list[str]:
    """Return the keys of the tasks that are not done: fewer than ``overlap`` people have answered them.

    ``awaited``: accounts; what all of them have answered is done too. ``None``: anyone may answer.
    """

    def is_open(key: str) -> bool:
        there = snapshot.accounts_of(key)
        answered = awaited is not None and {snapshot.account(user) for user in there}.issuperset(awaited)
        return len(there) < overlap and not answered

    return [key for key in keys if is_open(key)]
