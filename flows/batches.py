"""Flow batches: what a coordinator can do from the Prefect UI with a batch that annotators work on."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from prefect import flow, get_run_logger
from pydantic import Field

from abcdlink.cli.agreement_details import details_lines
from abcdlink.errors import InputError
from abcdlink.interannotator.measures import Agreement
from abcdlink.stages.annotate import details_so_far
from abcdlink.store import Store, existing_run
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
            show_partial(store, batch, pull_partial(store, batch))
        case _:
            say(run, batch, words_of(store, batch, action, account, to))


def words_of(store: Store, batch: int, action: Action, account: str, to: str) -> list[str]:
    """Perform the action and return its results, one sentence each."""
    match action:
        case Action.CHECK:
            changed = check(store, batch)
            return list(changed.changes) if changed else ["nothing has changed since the batch was pulled"]
        case Action.PULL_AGAIN:
            again = pull_again(store, batch)
            return [f"this is pull {again.version} of batch {batch}", *(again.changes or ["nothing had changed"])]
        case Action.REQUEUE:
            return requeue(store, batch) or ["nobody skipped a task of this batch"]
    if not account:
        msg = "no annotator is named to stop waiting for"
        raise InputError(msg, "fill in the field `account`")
    return reassign(store, batch, account, to)


def show_partial(store: Store, batch: int, so_far: Agreement) -> None:
    """Show kappa and acceptance rates so far, and how many more pairs would be needed."""
    rows = [{"method": method, **one.model_dump()} for method, one in so_far.acceptance.items()]
    kappa = so_far.note if so_far.kappa is None else f"{so_far.kappa:.4f}"
    told = (
        f"Batch {batch} so far: {so_far.judged} candidates judged by all, {so_far.incomplete} by fewer, kappa {kappa}"
    )
    table(key(store.key, "partial", batch), rows, told)
    lines = details_lines(details_so_far(store, batch, partial=True))
    show_text(
        key(store.key, "partial", batch, "details"),
        "\n".join(f"- {line}" for line in lines),
        f"Differences, times, and how many more pairs would be needed, in batch {batch} so far",
    )


def say(run: str, batch: int, sentences: list[str]) -> None:
    """Show sentences on the run page and in the log."""
    for sentence in sentences:
        get_run_logger().info("%s.", sentence)
    text = "\n".join(f"- {sentence}" for sentence in sentences)
    show_text(key(run, "batches", batch), text, f"Run {run}, batch {batch}")
