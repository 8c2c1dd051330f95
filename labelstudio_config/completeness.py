"""How far the annotators of a project are, and whether they are done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from abcdlink.corpus.records import Record
from abcdlink.errors import ServiceError
from labelstudio_config.client import Client
from labelstudio_config.snapshot import Snapshot, read_project


class Progress(Record):
    """How far the annotators are.

    ``tasks``: tasks that are in Label Studio. ``done``: those that enough annotators submitted or
    skipped. ``annotators``: account -> tasks it submitted or skipped. ``vanished``: keys of tasks
    that were pushed and are gone; they are not waited for.
    """

    tasks: int
    done: int
    complete: bool
    annotators: dict[str, int]
    vanished: tuple[str, ...]


def progress_of(client: Client, title: str, keys: Collection[str], overlap: int) -> Progress:
    """Read from the annotations how far a pushed project is.

    Args:
        client: the server.
        title: of the project.
        keys: of the tasks that were pushed.
        overlap: how many annotators each task needs.

    Raises:
        ServiceError: when the project, or every task in it, is gone (nobody could ever complete it),
            or Label Studio does not answer.
    """
    snapshot = read_project(client, title, keys)
    if snapshot.vanished and len(snapshot.vanished) == len(keys):
        msg = f"the project {title!r} of Label Studio at {client.url} holds no task that was pushed"
        raise ServiceError(msg, "push it again")
    return progress_in(snapshot, keys, overlap)


def progress_in(snapshot: Snapshot, keys: Collection[str], overlap: int) -> Progress:
    """Count from a snapshot; for the arguments see ``progress_of``."""
    there = set(keys) - set(snapshot.vanished)
    per_account = Counter(snapshot.account(user) for _, user in snapshot.answers)
    done = sum(len(snapshot.accounts_of(key)) >= overlap for key in there)
    return Progress(
        tasks=len(there),
        done=done,
        complete=done == len(there),
        annotators=dict(sorted(per_account.items())),
        vanished=snapshot.vanished,
    )
