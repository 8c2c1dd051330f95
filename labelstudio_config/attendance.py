"""Who works on a project: how far each annotator is, who is late or relieved, and reminders."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime, timedelta

from abcdlink.corpus.records import Record
from abcdlink.errors import AbcdlinkError
from abcdlink.layout import QUALIFY_SLUG, batch_of, batch_slug, is_batch, is_feedback, project_file
from abcdlink.qualify import qualified_accounts
from abcdlink.stages.annotate import annotators_of
from abcdlink.stages.feedback import prepare_feedback
from abcdlink.store import Store
from abcdlink.waiting import PeopleProgress, Person, keep_people_progress
from labelstudio_config.client import public
from labelstudio_config.progress import open_keys, progress_in
from labelstudio_config.run import PushedProject
from labelstudio_config.snapshot import Snapshot


class Relief(Record):
    """An annotator whom the run no longer waits for; ``to``: the account that takes over, if one is named."""

    account: str
    to: str
    at: datetime


class Attendance(Record):
    """How far one annotator is with a project.

    ``annotator``: pseudonym, empty until an answer of theirs was pulled. ``done``: tasks that they submitted
    or skipped. ``open``: tasks that still need an answer and have none from them. ``last``: their newest answer;
    ``days``: whole days since then, or since the project was pushed. ``relieved``: the run no longer waits for them.
    """

    account: str
    annotator: str
    done: int
    open: int
    last: datetime | None
    days: int
    late: bool
    relieved: bool

    @property
    def row(self) -> dict[str, object]:
        """How far they are, as a row of a table."""
        return {
            "account": self.account,
            "annotator": self.annotator,
            "last answer": f"{self.last:%Y-%m-%d %H:%M} UTC" if self.last else "none",
            "state": "relieved" if self.relieved else "late" if self.late else "",
            "done": self.done,
            "open": self.open,
            "days since": self.days,
        }


SCHEDULE = "schedule.json"
RELIEFS = "reliefs.jsonl"
REMINDERS = "reminders.jsonl"

Notify = Callable[[str, str], None]
"""Sends a text (subject, body)."""


class Schedule(Record):
    """When a project is due.

    ``late_days``: someone with open tasks and no answer for this many days is late. ``block``: the Prefect
    notification block that reminders are sent by, as ``slack-webhook/annotators``; empty: none.
    """

    since: datetime
    deadline: datetime | None = None
    late_days: int = 3
    block: str = ""


class Reminder(Record):
    """A reminder of one day; ``sent``: how, or why not."""

    day: str
    text: str
    sent: str


def set_schedule(store: Store, slug: str, deadline_days: int | None, late_days: int, block: str) -> None:
    """Note when a project is due, counted from now; later calls change nothing."""
    name = project_file(slug, SCHEDULE)
    if not store.exists(name):
        now = datetime.now(UTC)
        deadline = None if deadline_days is None else now + timedelta(days=deadline_days)
        store.write_record(name, Schedule(since=now, deadline=deadline, late_days=late_days, block=block))


def schedule_of(store: Store, slug: str) -> Schedule:
    """Return when a project is due; without a note, it counts as pushed just now."""
    return store.find_record(project_file(slug, SCHEDULE), Schedule) or Schedule(since=datetime.now(UTC))


def reliefs_of(store: Store, slug: str) -> dict[str, Relief]:
    """Return account -> annotator whom the run no longer waits for, here or since an earlier batch."""
    last = batch_of(slug) if is_batch(slug) or is_feedback(slug) else 0
    found: dict[str, Relief] = {}
    for each in dict.fromkeys((*map(batch_slug, range(1, last + 1)), slug)):
        for one in store.find_records(project_file(each, RELIEFS), Relief):
            found[one.account] = one
            found.pop(one.to, None)
    return found


def awaited_in(store: Store, slug: str) -> dict[str, str] | None:
    """Return account -> pseudonym of those whom a feedback round waits for; elsewhere ``None``: anyone may answer.

    These are the annotators of its batch, without those who were relieved, during the round too.
    """
    if not is_feedback(slug):
        return None
    judges, relieved = prepare_feedback(store, batch_of(slug)).memos, reliefs_of(store, slug)
    people = {one.account: one.annotator for one in annotators_of(store) if one.annotator in judges}
    return {account: name for account, name in people.items() if account not in relieved}


def relieve(store: Store, slug: str, account: str, to: str) -> None:
    """Note that the run no longer waits for someone, and who takes over."""
    reliefs = reliefs_of(store, slug) | {account: Relief(account=account, to=to, at=datetime.now(UTC))}
    reliefs.pop(to, None)
    store.write_records(project_file(slug, RELIEFS), reliefs.values())


def attendance(store: Store, pushed: PushedProject, snapshot: Snapshot, now: datetime) -> list[Attendance]:
    """Return how far everyone is who has answered or is expected to, in the order of their accounts.

    Expected are those confirmed after a qualification, or without one the annotators of the run so far, and
    those named to take over someone's work.
    """
    pseudonyms = {one.account: one.annotator for one in annotators_of(store)}
    qualified, reliefs = qualified_accounts(store), reliefs_of(store, pushed.slug)
    expected = {account for account in pseudonyms if qualified is None or account.lower() in qualified}
    known = {account.lower() for account in expected}
    expected |= {account for account in qualified or () if account not in known}
    expected |= {one.to for one in reliefs.values() if one.to}
    answered: dict[str, dict[str, datetime]] = {account: {} for account in expected}
    for (key, user), answers in snapshot.answers.items():
        answered.setdefault(snapshot.account(user), {})[key] = answers[0].at
    schedule, unfinished = schedule_of(store, pushed.slug), open_keys(snapshot, pushed.task_keys, pushed.overlap)
    rows = []
    for account, times in sorted(answered.items()):
        last, relieved = max(times.values(), default=None), account in reliefs
        silent = now - (last or schedule.since)
        left = sum(key not in times for key in unfinished)
        rows.append(
            Attendance(
                account=account,
                annotator=pseudonyms.get(account, ""),
                done=len(times),
                open=left,
                last=last,
                days=max(silent.days, 0),
                late=bool(left) and not relieved and silent >= timedelta(days=schedule.late_days),
                relieved=relieved,
            )
        )
    return rows


def reminder_due(
    store: Store, pushed: PushedProject, snapshot: Snapshot, rows: list[Attendance], now: datetime
) -> str | None:
    """Return the text of today's reminder: the deadline is less than a day away or has passed, or someone is late.

    ``None``: there is nothing to remind of, or today's reminder is done (UTC).
    """
    progress, schedule = progress_in(snapshot, pushed.task_keys, pushed.overlap), schedule_of(store, pushed.slug)
    near = schedule.deadline is not None and now >= schedule.deadline - timedelta(days=1)
    late = [row for row in rows if row.late]
    today = f"{now.astimezone(UTC):%Y-%m-%d}"
    if progress.complete or not (near or late) or any(one.day == today for one in reminders_of(store, pushed.slug)):
        return None
    lines = [f"{pushed.title}: {progress.done} of {progress.tasks} tasks are done."]
    if schedule.deadline is not None:
        word = "was" if now > schedule.deadline else "is"
        lines.append(f"The deadline {word} {schedule.deadline:%Y-%m-%d %H:%M} UTC.")
    lines += [f"{row.account} has {row.open} open tasks and has not answered for {row.days} days." for row in late]
    return "\n".join([*lines, f"The tasks: {pushed.url}"])


def send_reminder(store: Store, pushed: PushedProject, text: str, notify: Notify | None, now: datetime) -> Reminder:
    """Note a reminder, then send it: if killed in between, it is not sent, but none is ever sent twice.

    ``notify`` sends it; with ``None`` it is only noted.
    """
    before, block = reminders_of(store, pushed.slug), schedule_of(store, pushed.slug).block
    sent = f"sent by {block}" if notify else "not sent: no notification block is set"
    reminder = Reminder(day=f"{now.astimezone(UTC):%Y-%m-%d}", text=text, sent=sent)
    name = project_file(pushed.slug, REMINDERS)
    store.write_records(name, [*before, reminder])
    if notify:
        try:
            notify(f"Reminder: {pushed.title}", text)
        except AbcdlinkError as error:
            reminder = reminder.model_copy(update={"sent": f"not sent: {error}"})
            store.write_records(name, [*before, reminder])
    return reminder


def reminders_of(store: Store, slug: str) -> list[Reminder]:
    """Return the reminders of a project, oldest first."""
    return store.find_records(project_file(slug, REMINDERS), Reminder)


def note_people_progress(store: Store, pushed: PushedProject, snapshot: Snapshot) -> PeopleProgress:
    """Store and return the progress of a project, from what was just read."""
    awaited = awaited_in(store, pushed.slug)
    done = progress_in(snapshot, pushed.task_keys, pushed.overlap, awaited).done
    left = open_keys(snapshot, pushed.task_keys, pushed.overlap, awaited)
    given = {key: snapshot.accounts_of(key) for key in pushed.task_keys}
    answers = sum(min(len(users), pushed.overlap) for users in given.values())
    missing = sum(pushed.overlap - len(given[key]) for key in left)
    # Only those who have judged every task of a qualification can be ranked.
    people = _people(store, pushed, snapshot, pushed.task_keys if pushed.slug == QUALIFY_SLUG else left, awaited)
    if awaited is not None:
        missing = sum(person.open for person in people)
    progress = PeopleProgress(
        title=pushed.title,
        url=public(pushed.home or pushed.projects[0].url),
        own_urls=() if pushed.home or len(pushed.projects) == 1 else tuple(public(one.url) for one in pushed.projects),
        tasks=len(pushed.task_keys),
        done=done,
        needed=answers + missing,
        answers=answers,
        people=people,
        looked=datetime.now(UTC),
        first=min((group[-1].at for group in snapshot.answers.values()), default=None),
        deadline=schedule_of(store, pushed.slug).deadline,
    )
    keep_people_progress(store, pushed.slug, progress)
    return progress


def _people(
    store: Store,
    pushed: PushedProject,
    snapshot: Snapshot,
    left: Collection[str],
    awaited: Mapping[str, str] | None,
) -> tuple[Person, ...]:
    """Return how far everyone is who should answer; where anyone may, those who have. ``left``: keys of open tasks."""
    done: defaultdict[str, set[str]] = defaultdict(set)
    for key, user in snapshot.answers:
        done[snapshot.account(user)].add(key)
    names = awaited
    if names is None and store.exists(project_file(pushed.slug, SCHEDULE)):
        rows = attendance(store, pushed, snapshot, datetime.now(UTC))
        names = {row.account: row.annotator for row in rows if not row.relieved}
    names = names or dict.fromkeys(done, "")
    return tuple(
        Person(account=account, annotator=name, done=len(done[account]), open=len(set(left) - done[account]))
        for account, name in sorted(names.items())
    )
