"""How far a batch is, and whether it is complete."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from abcdlink.corpus.records import Record
from abcdlink.errors import ServiceError
from abcdlink.judgments import Pool
from labelstudio_config.client import Client
from labelstudio_config.projects import title_of
from labelstudio_config.snapshot import of_batch, read_batch


class BatchProgress(Record):
    """How far a batch is.

    ``tasks``: tasks that are in Label Studio. ``done``: those that enough annotators submitted or
    skipped. ``annotators``: account -> tasks it submitted or skipped. ``vanished``: keys of tasks
    that were pushed and are gone; they are not waited for.
    """

    tasks: int
    done: int
    complete: bool
    annotators: dict[str, int]
    vanished: tuple[str, ...]


def progress_of(client: Client, run_key: str, batch: int, pools: Sequence[Pool], overlap: int) -> BatchProgress:
    """Read from the annotations how far a pushed batch is.

    Args:
        client: the server.
        run_key: name of the run.
        batch: number of the batch.
        pools: the candidate pools of the run.
        overlap: how many annotators each task needs.

    Raises:
        ServiceError: when the project, or every task in it, is gone (nobody could ever complete it),
            or Label Studio does not answer.
    """
    snapshot = read_batch(client, run_key, batch, pools)
    keys = of_batch(pools, batch).keys() - set(snapshot.vanished)
    if snapshot.vanished and not keys:
        msg = f"the project {title_of(run_key, batch)!r} of Label Studio at {client.url} holds no task of its batch"
        raise ServiceError(msg, f"push batch {batch} of run {run_key!r} again")
    per_account = Counter(snapshot.account(user) for _, user in snapshot.answers)
    done = sum(len(snapshot.accounts_of(key)) >= overlap for key in keys)
    return BatchProgress(
        tasks=len(keys),
        done=done,
        complete=done == len(keys),
        annotators=dict(sorted(per_account.items())),
        vanished=snapshot.vanished,
    )
