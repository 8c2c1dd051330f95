"""While a run waits for people: who has done how much, reminders, and changed answers of earlier batches."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from logging import Logger, LoggerAdapter
from typing import Any

from abcdlink.layout import batch_file, project_file
from abcdlink.stages.annotate import pulled_of
from abcdlink.store import Store
from abcdlink.waiting import Waiting
from flows.ui.artifacts import key, table
from flows.ui.live_artifacts import show_rows
from labelstudio_config.attendance import SCHEDULE, Attendance, attendance, reminder_due, schedule_of, send_reminder
from labelstudio_config.batches import batches_pushed, check
from labelstudio_config.run import known_so_far, read_pushed
from tasks.blocks import notify_by

Loggers = Logger | LoggerAdapter[Logger]

CHECKED = "checked.json"
BETWEEN_CHECKS = timedelta(hours=1)
"""Hours, since a check reads a whole batch from Label Studio."""


def show_attendance(run: str, slug: str, rows: Sequence[Attendance], summary: str) -> None:
    """Show who has done how much of a project."""
    table(key(run, slug, "annotators"), [row_of(one) for one in rows], f"Run {run}, {slug}: {summary}")


def row_of(one: Attendance) -> dict[str, Any]:
    """Return one row of the table of annotators."""
    return {
        "account": one.account,
        "annotator": one.annotator,
        "done": one.done,
        "open": one.open,
        "last answer": f"{one.last:%Y-%m-%d %H:%M} UTC" if one.last else "none",
        "days since": one.days,
        "late": "relieved" if one.relieved else "yes" if one.late else "no",
    }


def look_after(store: Store, waiting: Waiting, summary: str, logger: Loggers) -> None:
    """Show the annotators of the batch that a run waits for on its page, and remind where that is due.

    It goes by what was found just before. Other projects have no schedule, and nobody is expected there.
    """
    slug = waiting.slug
    pushed, now = read_pushed(store, slug), datetime.now(UTC)
    snapshot = known_so_far(store, pushed)
    if snapshot is None or not store.exists(project_file(slug, SCHEDULE)):
        return
    rows = attendance(store, pushed, snapshot, now)
    shown = [row_of(one) for one in rows] or [{"account": "nobody has started"}]
    show_rows(store, waiting.flow_run, slug, "annotators", shown, f"Run {store.key}, {slug}: {summary}")
    text = reminder_due(store, pushed, snapshot, rows, now)
    if text:
        block = schedule_of(store, slug).block
        reminder = send_reminder(store, pushed, text, partial(notify_by, block) if block else None, now)
        logger.warning("%s\n(%s)", text, reminder.sent)


def check_earlier(store: Store, logger: Loggers) -> None:
    """Compare pulled batches with Label Studio, each once an hour, and say what has changed."""
    now = datetime.now(UTC)
    for batch in batches_pushed(store):
        name = batch_file(batch, CHECKED)
        if pulled_of(store, batch) is None:
            continue
        if store.exists(name) and now - datetime.fromisoformat(store.read_json(name)) < BETWEEN_CHECKS:
            continue
        store.write_json(name, now.isoformat())
        if changed := check(store, batch):
            for line in changed.changes:
                logger.warning("Run %s, batch %d, after it was pulled: %s.", store.key, batch, line)
