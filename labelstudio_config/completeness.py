"""How far the annotators of a project are, and whether they are done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from abcdlink.corpus.records import Record
from labelstudio_config.snapshot import Snapshot


class Progress(Record):
    """How far the annotators are.

    ``tasks``: tasks that were pushed. ``done``: those that enough annotators submitted or skipped, in
    Label Studio or before the task was deleted there. ``annotators``: account -> tasks it submitted or
    skipped. ``vanished``: keys of tasks that are not in Label Studio.
    """

    tasks: int
    done: int
    complete: bool
    annotators: dict[str, int]
    vanished: tuple[str, ...]


def progress_in(snapshot: Snapshot, keys: Collection[str], overlap: int) -> Progress:
    """Tell how far a pushed project is.

    Args:
        snapshot: what counts of it.
        keys: of the tasks that were pushed.
        overlap: how many annotators each task needs.
    """
    per_account = Counter(snapshot.account(user) for _, user in snapshot.answers)
    done = len(keys) - len(open_keys(snapshot, keys, overlap))
    return Progress(
        tasks=len(keys),
        done=done,
        complete=done == len(keys),
        annotators=dict(sorted(per_account.items())),
        vanished=snapshot.vanished,
    )


def open_keys(snapshot: Snapshot, keys: Collection[str], overlap: int) -> list[str]:
    """Return the keys of the tasks that are not done."""
    return [key for key in keys if len(snapshot.accounts_of(key)) < overlap]
