"""People and deadlines of a batch: who is late, who was replaced, who is reminded and how often."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import ClassVar

import pytest
from prefect.blocks.abstract import NotificationBlock
from prefect.blocks.core import Block
from prefect.blocks.system import Secret

from abcdlink.errors import InputError, ServiceError
from abcdlink.judgments import Annotator
from abcdlink.layout import ANNOTATORS
from abcdlink.store import Store
from labelstudio_config.attendance import (
    Attendance,
    attendance,
    reliefs_of,
    reminder_due,
    reminders_of,
    schedule_of,
    send_reminder,
    set_schedule,
)
from labelstudio_config.batches import reassign, status
from labelstudio_config.projects import look_now
from labelstudio_config.run import read_pushed
from tasks.blocks import notify_by
from tests.helpers.batch_steps import SLUG
from tests.helpers.fake_label_studio import ADA, BEN, CY, PEOPLE, FakeLabelStudio

START = datetime(2026, 1, 1, tzinfo=UTC)
"""The time of the fake server's first answer."""


@pytest.fixture
def store(store: Store) -> Store:
    """A run with a batch of four tasks, pushed at ``START``, that Ada and Ben are expected to judge."""
    people = [
        Annotator(annotator=f"annotator-{n}", account=PEOPLE[user], simulated=False) for n, user in ((1, 7), (2, 8))
    ]
    store.write_records(ANNOTATORS, people)
    set_schedule(store, SLUG, 10, 3, "")
    moved = schedule_of(store, SLUG).model_copy(update={"since": START, "deadline": START + timedelta(days=10)})
    store.write_text(f"label-studio/{SLUG}/schedule.json", moved.model_dump_json())
    return store


def rows_at(store: Store, day: float) -> dict[str, Attendance]:
    pushed, snapshot = look_now(store, SLUG)
    return {row.account: row for row in attendance(store, pushed, snapshot, START + timedelta(days=day))}


def due_at(store: Store, day: float) -> str | None:
    pushed, snapshot = look_now(store, SLUG)
    now = START + timedelta(days=day)
    return reminder_due(store, pushed, snapshot, attendance(store, pushed, snapshot, now), now)


def test_an_annotator_silent_for_days_with_open_tasks_is_late(
    store: Store, server: FakeLabelStudio, keys: tuple[str, ...]
) -> None:
    for key in keys:
        server.answer(key, ADA)
    server.answer(keys[0], BEN)
    rows = rows_at(store, 2.9)
    assert {account: (row.done, row.open, row.late) for account, row in rows.items()} == {
        PEOPLE[ADA]: (4, 0, False),
        PEOPLE[BEN]: (1, 3, False),
    }
    rows = rows_at(store, 3.1)
    assert (rows[PEOPLE[ADA]].late, rows[PEOPLE[BEN]].late, rows[PEOPLE[BEN]].days) == (False, True, 3)
    assert rows[PEOPLE[BEN]].annotator == "annotator-2"


def test_lateness_without_any_answer_counts_from_the_push(store: Store) -> None:
    assert [row.late for row in rows_at(store, 2).values()] == [False, False]
    assert [(row.last, row.late) for row in rows_at(store, 4).values()] == [(None, True), (None, True)]


def test_nobody_is_late_with_a_finished_batch(store: Store, server: FakeLabelStudio, keys: tuple[str, ...]) -> None:
    for key in keys:
        server.answer(key, ADA)
        server.answer(key, CY)
    assert not any(row.late for row in rows_at(store, 30).values())
    assert due_at(store, 30) is None
    assert "nobody has to take over" in reassign(store, 1, PEOPLE[BEN])[-1]


def test_a_reminder_is_due_when_someone_is_late_or_the_deadline_is_near(store: Store, server: FakeLabelStudio) -> None:
    assert due_at(store, 1) is None
    assert "ada@example.org has 4 open tasks and has not answered for 5 days" in due_at(store, 5)
    for user in (ADA, BEN):
        reassign(store, 1, PEOPLE[user])
    assert due_at(store, 5) is None
    assert "The deadline is 2026-01-11" in due_at(store, 9.5)
    assert "The deadline was 2026-01-11" in due_at(store, 10.5)


def test_a_reminder_is_sent_once_a_day(store: Store) -> None:
    pushed, sent = read_pushed(store, SLUG), []
    for day in (5, 5.2, 6):
        if text := due_at(store, day):
            send_reminder(store, pushed, text, lambda *said: sent.append(said), START + timedelta(days=day))
    assert [one.day for one in reminders_of(store, SLUG)] == ["2026-01-06", "2026-01-07"]
    assert len(sent) == 2
    assert sent[0][0].endswith("batch 1")


def test_a_reminder_killed_while_sending_is_not_sent_twice(store: Store) -> None:
    def die(*_: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        send_reminder(store, read_pushed(store, SLUG), "late", die, START + timedelta(days=5))
    assert due_at(store, 5) is None


def test_a_reminder_that_fails_or_has_no_channel_says_so(store: Store) -> None:
    def fail(*_: str) -> None:
        msg = "no network"
        raise ServiceError(msg)

    pushed = read_pushed(store, SLUG)
    assert send_reminder(store, pushed, "late", fail, START).sent == "not sent: no network."
    assert send_reminder(store, pushed, "late", None, START).sent.startswith("not sent: no notification block")
    assert len(reminders_of(store, SLUG)) == 2


def test_a_handover_is_described_and_lasts(store: Store, server: FakeLabelStudio, keys: tuple[str, ...]) -> None:
    for key in keys:
        server.answer(key, ADA)
    server.answer(keys[0], BEN)
    before = [dict(task) for task in server.all_tasks()]
    said = "\n".join(reassign(store, 1, "annotator-2", "eve@example.org"))
    assert server.all_tasks() == before
    for part in (
        "the run no longer waits for ben@example.org",
        "3 of 4 tasks",
        f"no account yet, and creates one here first: {server.invitation()}",
        read_pushed(store, SLUG).url,
    ):
        assert part in said
    assert list(reliefs_of(store, SLUG)) == [PEOPLE[BEN]]
    rows = rows_at(store, 30)
    assert (rows[PEOPLE[BEN]].relieved, rows[PEOPLE[BEN]].late) == (True, False)
    assert rows["eve@example.org"].open == 3
    assert {row.account for row in status(store, 1).people} == set(rows)
    assert "has already answered" in "\n".join(reassign(store, 1, PEOPLE[BEN], "annotator-1"))
    # Someone who takes over work is awaited again.
    reassign(store, 1, PEOPLE[ADA], PEOPLE[BEN])
    assert list(reliefs_of(store, SLUG)) == [PEOPLE[ADA]]


@pytest.mark.parametrize(
    ("account", "to"), [("who@example.org", ""), (PEOPLE[ADA], PEOPLE[ADA]), (PEOPLE[ADA], "annotator-1")]
)
def test_only_another_person_replaces_an_annotator_of_the_batch(store: Store, account: str, to: str) -> None:
    with pytest.raises(InputError):
        reassign(store, 1, account, to)
    assert reliefs_of(store, SLUG) == {}


def test_an_unpushed_batch_is_one_clear_error(store: Store) -> None:
    with pytest.raises(InputError, match="batch 2"):
        status(store, 2)


class Pigeon(NotificationBlock):
    """A block that records what it is to send, unless it is shot."""

    shot: bool = False
    sent: ClassVar[list[tuple[str | None, str]]] = []

    async def notify(self, body: str, subject: str | None = None) -> None:
        if self.shot:
            msg = "it does not fly"
            raise RuntimeError(msg)
        self.sent.append((subject, body))


def test_a_notification_block_sends_or_says_why_not(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = {"pigeon/good": Pigeon(), "pigeon/shot": Pigeon(shot=True), "secret/quiet": Secret(value="x")}

    def load(name: str) -> Block:
        if name not in blocks:
            raise ValueError(name)
        return blocks[name]

    monkeypatch.setattr(Block, "load", load)
    notify_by("pigeon/good", "subject", "body")
    assert Pigeon.sent == [("subject", "body")]
    with pytest.raises(ServiceError, match=r"could not send a notification \(RuntimeError\)"):
        notify_by("pigeon/shot", "subject", "body")
    with pytest.raises(InputError, match="no block 'slack-webhook/nowhere'"):
        notify_by("slack-webhook/nowhere", "subject", "body")
    with pytest.raises(InputError, match="sends no notifications"):
        notify_by("secret/quiet", "subject", "body")
