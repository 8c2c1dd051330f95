"""Who does the tasks of a project, how far each is, and who is late."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

from abcdlink.corpus.records import Record
from labelstudio_config.snapshot import Snapshot


class Relief(Record):
    """Someone who is not waited for any more; ``to``: the account that does the work instead, where one is named."""

    account: str
    to: str
    at: datetime


class Term(Record):
    """Times: when a project was pushed, and the time now; no answer for ``late_days`` days is late."""

    since: datetime
    now: datetime
    late_days: int


class Attendance(Record):
    """How far one annotator is with a project.

    ``annotator``: pseudonym, empty as long as nothing was pulled of her. ``done``: tasks that she submitted
    or skipped. ``open``: tasks that wait for an answer and have none of hers. ``last``: her newest answer;
    ``days``: whole days since then, or since the project was pushed. ``relieved``: not waited for.
    """

    account: str
    annotator: str
    done: int
    open: int
    last: datetime | None
    days: int
    late: bool
    relieved: bool


def attendance_in(
    snapshot: Snapshot, unfinished: Collection[str], expected: Mapping[str, str], relieved: Collection[str], term: Term
) -> list[Attendance]:
    """Tell how far everyone is who has answered or is expected to, in the order of their accounts.

    Args:
        snapshot: what counts of the project.
        unfinished: keys of the tasks that wait for answers.
        expected: accounts that are to answer -> pseudonym, or nothing where there is none yet.
        relieved: accounts that are not waited for.
        term: times.
    """
    answered: dict[str, dict[str, datetime]] = {account: {} for account in expected}
    for (key, user), answers in snapshot.answers.items():
        answered.setdefault(snapshot.account(user), {})[key] = answers[0].at
    rows = []
    for account, times in sorted(answered.items()):
        last = max(times.values(), default=None)
        silent = term.now - (last or term.since)
        left = sum(key not in times for key in unfinished)
        rows.append(
            Attendance(
                account=account,
                annotator=expected.get(account, ""),
                done=len(times),
                open=left,
                last=last,
                days=max(silent.days, 0),
                late=bool(left) and account not in relieved and silent >= timedelta(days=term.late_days),
                relieved=account in relieved,
            )
        )
    return rows
