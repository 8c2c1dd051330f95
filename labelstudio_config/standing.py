"""How far a project is, kept in the run's folder for everyone who does not ask Label Studio."""

from __future__ import annotations

from datetime import UTC, datetime

from abcdlink.layout import project_file
from abcdlink.store import Store
from abcdlink.waiting import Person, Standing, keep_standing
from labelstudio_config.attendance import SCHEDULE, attendance, schedule_of
from labelstudio_config.client import public
from labelstudio_config.run import PushedProject
from labelstudio_config.snapshot import Snapshot, open_keys, progress_in


def note_standing(store: Store, pushed: PushedProject, snapshot: Snapshot) -> Standing:
    """Keep and return how far a project is by what was just read of it."""
    now, progress = datetime.now(UTC), progress_in(snapshot, pushed.task_keys, pushed.overlap)
    left = open_keys(snapshot, pushed.task_keys, pushed.overlap)
    given = {key: len(snapshot.accounts_of(key)) for key in pushed.task_keys}
    standing = Standing(
        title=pushed.title,
        url=public(pushed.home or pushed.projects[0].url),
        own_urls=() if pushed.home or len(pushed.projects) == 1 else tuple(public(one.url) for one in pushed.projects),
        tasks=progress.tasks,
        done=progress.done,
        needed=progress.tasks * pushed.overlap,
        answers=sum(min(count, pushed.overlap) for count in given.values()),
        people=_expected(store, pushed, snapshot, now) or _those_who_answered(snapshot, left),
        looked=now,
        first=min((group[-1].at for group in snapshot.answers.values()), default=None),
        deadline=schedule_of(store, pushed.slug).deadline,
    )
    keep_standing(store, pushed.slug, standing)
    return standing


def _expected(store: Store, pushed: PushedProject, snapshot: Snapshot, now: datetime) -> tuple[Person, ...]:
    """Return who is to answer; nobody where the project has no schedule, since anyone may do it then."""
    if not store.exists(project_file(pushed.slug, SCHEDULE)):
        return ()
    rows = attendance(store, pushed, snapshot, now)
    return tuple(
        Person(account=row.account, annotator=row.annotator, done=row.done, open=row.open)
        for row in rows
        if not row.relieved
    )


def _those_who_answered(snapshot: Snapshot, left: list[str]) -> tuple[Person, ...]:
    done: dict[int, set[str]] = {}
    for key, user in snapshot.answers:
        done.setdefault(user, set()).add(key)
    return tuple(
        Person(account=snapshot.account(user), annotator="", done=len(keys), open=sum(key not in keys for key in left))
        for user, keys in sorted(done.items())
    )
