"""Flow batches: what a coordinator can do from the Prefect UI with a batch that annotators work on."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

from prefect import flow, get_run_logger
from pydantic import Field

from abcdlink.errors import InputError
from abcdlink.store import existing_run
from flows.artifacts import show_agreement
from flows.parameters import RunKey
from labelstudio_config.batches import check, pull_again, pull_partial, reassign, requeue, status
from tasks.running import key, show_text, table


class Action(StrEnum):
    """What can be done with a batch."""

    STATUS = "status"
    CHECK = "check"
    PARTIAL = "partial"
    PULL_AGAIN = "pull-again"
    REASSIGN = "reassign"
    REQUEUE = "requeue"


@flow(name="batches", flow_run_name="{action} {run} batch {batch}")
def batches(
    run: RunKey,
    batch: Annotated[int, Field(ge=1)] = 1,
    action: Action = Action.STATUS,
    account: str = "",
    to: str = "",
) -> None:
    """Look at a batch in Label Studio, pull it again, reassign work, or offer skipped tasks again.

    Args:
        run: run key.
        batch: number of the batch.
        action: status: who did how much; check: whether answers changed since the batch was pulled; partial: kappa and
            acceptance so far; pull-again: read the batch again; reassign: stop waiting for an annotator; requeue: offer
            skipped tasks again.
        account: for reassign: annotator to stop waiting for.
        to: for reassign: who takes over; optional.
    """
    store = existing_run(run)
    match action:
        case Action.STATUS:
            found = status(store, batch)
            told = f"Run {run}, batch-{batch}: {found.done} of {found.tasks} tasks done"
            table(key(run, "batch", batch, "annotators"), [one.row for one in found.people], told)
        case Action.PARTIAL:
            show_agreement(store, batch, pull_partial(store, batch), partial=True)
        case Action.CHECK:
            changed = check(store, batch)
            say(run, batch, changed.changes if changed else ["nothing has changed since the batch was pulled"])
        case Action.PULL_AGAIN:
            say(run, batch, pull_again(store, batch).words(batch))
        case Action.REQUEUE:
            say(run, batch, requeue(store, batch))
        case Action.REASSIGN if account:
            say(run, batch, reassign(store, batch, account, to))
        case Action.REASSIGN:
            msg = "no annotator is named to stop waiting for"
            raise InputError(msg, "fill in the field `account`")


def say(run: str, batch: int, sentences: Sequence[str]) -> None:
    """Show sentences on the run page and in the log."""
    for sentence in sentences:
        get_run_logger().info("%s.", sentence)
    text = "\n".join(f"- {sentence}" for sentence in sentences)
    show_text(key(run, "batches", batch), text, f"Run {run}, batch {batch}")
