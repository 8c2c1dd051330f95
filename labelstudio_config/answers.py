"""The answer of each annotator to each task that counts, and a sentence on all that was left out or looks wrong."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from abcdlink.judgments import Annotator
from labelstudio_config.history import Fate, GoneTask, answer_in, key_of, last_changed_by, user_of
from labelstudio_config.snapshot import SetAside, Snapshot, TaskAnswer

SIMULATED_DOMAIN = "@simulated.invalid"
"""Ending of the e-mail addresses of programs that annotate; no real address can end in ``.invalid``."""

ANNOTATOR = "annotator"
"""What the pseudonyms of a run's annotators begin with."""

STRANGER = "an account without answers"
"""Someone who has no answer that counts, and therefore no pseudonym."""


@dataclass(frozen=True)
class Answers:
    """What annotators answered.

    ``newest``: (pseudonym, answer) in the order of the keys, then of the accounts; skipped tasks are
    left out. ``skips``: (pseudonym, task key). ``annotators``: everyone in the run so far.
    ``anomalies``: one sentence for each thing that was left out or looks wrong.
    """

    newest: list[tuple[str, TaskAnswer]]
    skips: list[tuple[str, str]]
    annotators: list[Annotator]
    anomalies: list[str]


def read_answers(snapshot: Snapshot, keys: Collection[str], annotators: Sequence[Annotator] = ()) -> Answers:
    """Take the newest answer of each annotator to each pushed task, skips included; older ones are reported.

    ``annotators``: those already known, who keep their pseudonyms.
    """
    known = with_pseudonyms(annotators, snapshot)
    pseudonym = {annotator.account: annotator.annotator for annotator in known}
    newest: list[tuple[str, TaskAnswer]] = []
    skips: list[tuple[str, str]] = []
    in_order = ((key, user) for key in keys for user in sorted(snapshot.accounts_of(key)))
    for key, user in in_order:
        answer, who = snapshot.answers[key, user][0], pseudonym[snapshot.account(user)]
        if answer.skipped:
            skips.append((who, key))
        else:
            newest.append((who, answer))
    name = namer(known)
    return Answers(newest, skips, known, [*anomalies_in(snapshot, name), *drafts_in(snapshot, name)])


def namer(annotators: Sequence[Annotator]) -> Namer:
    """Return a function from an account to the annotator's pseudonym."""
    pseudonym = {annotator.account: annotator.annotator for annotator in annotators}
    return lambda account: pseudonym.get(account, STRANGER)


def with_pseudonyms(annotators: Sequence[Annotator], snapshot: Snapshot, role: str = ANNOTATOR) -> list[Annotator]:
    """Give new accounts pseudonyms after those in use, in the order of their account ids.

    ``role``: prefix of the new pseudonyms; people of another role are numbered separately.
    """
    known = list(annotators)
    accounts = {annotator.account for annotator in known}
    for user in sorted({user for _, user in snapshot.answers}):
        account = snapshot.account(user)
        if account not in accounts:
            simulated = account.endswith(SIMULATED_DOMAIN)
            number = 1 + sum(one.annotator.startswith(f"{role}-") for one in known)
            known.append(Annotator(annotator=f"{role}-{number}", account=account, simulated=simulated))
    return known


Fingerprints = Mapping[str, str]
"""``task key|account id`` -> hash of the answer that counts."""


def fingerprints_of(snapshot: Snapshot) -> dict[str, str]:
    """Return the fingerprint of each answer that counts: 16 hex digits of a SHA-256 of what it says."""
    return {
        f"{key}|{user}": hashlib.sha256(json.dumps(answer_in(newest.raw), sort_keys=True).encode()).hexdigest()[:16]
        for (key, user), (newest, *_) in sorted(snapshot.answers.items())
    }


def differences(pulled: Fingerprints, snapshot: Snapshot, name: Namer) -> list[str]:
    """Say which answers were added, changed or deleted since they were pulled."""
    now = fingerprints_of(snapshot)
    said = []
    for answer in sorted(pulled.keys() | now.keys()):
        key, _, user = answer.rpartition("|")
        who = name(snapshot.account(int(user)))
        if answer not in now:
            said.append(f"the answer of {who} to the task {key} is gone")
        elif answer not in pulled:
            said.append(f"{who} answered the task {key} later")
        elif now[answer] != pulled[answer]:
            said.append(f"{who} changed the answer to the task {key}")
    return said


Namer = Callable[[str], str]
"""E-mail address of an account -> its name in the sentences."""


def anomalies_in(snapshot: Snapshot, name: Namer) -> list[str]:
    """Say what was deleted, altered, forged, answered twice or skipped, or does not belong to this project."""
    return [
        *_gone_projects(snapshot),
        *_gone_tasks(snapshot),
        *_altered(snapshot),
        *_copies(snapshot),
        *(_why_aside(one, snapshot, name) for one in snapshot.set_aside),
        *_deleted_answers(snapshot, name),
        *_removed_accounts(snapshot, name),
        *_twice(snapshot, name),
        *_skips(snapshot, name),
        *_foreign(snapshot),
    ]


def drafts_in(snapshot: Snapshot, name: Namer) -> list[str]:
    """Say who began tasks without submitting them; drafts of submitted answers are left out."""
    left: defaultdict[str, list[str]] = defaultdict(list)
    for task in snapshot.history.tasks:
        submitted = {snapshot.account(user_of(annotation)) for annotation in task["annotations"]}
        for account in dict.fromkeys(str(draft.get("user")) for draft in task["drafts"]):
            if account not in submitted:
                left[account].append(key_of(task))
    return [
        f"{name(account)} left {len(keys)} drafts that were never submitted ({', '.join(keys)})"
        for account, keys in left.items()
    ]


def unqualified_in(snapshot: Snapshot, qualified: Collection[str] | None, name: Namer) -> list[str]:
    """Say who answered without being qualified; ``None``: everyone is."""
    if qualified is None:
        return []
    answered = Counter(snapshot.account(user) for _, user in snapshot.answers)
    return [
        f"{name(account)} answered {count} tasks without being confirmed after the qualification"
        for account, count in answered.items()
        if account.lower() not in qualified
    ]


def _gone_projects(snapshot: Snapshot) -> list[str]:
    said = [
        f"the project {number} was deleted with {len(tasks)} tasks (noted {_day(tasks[0].noted)}); "
        f"{_their_answers(tasks)}"
        for number, tasks in _by_project(snapshot).items()
        if number not in snapshot.history.there
    ]
    if not (snapshot.history.there or said):
        said.append("the project is not in Label Studio")
    return said


def _gone_tasks(snapshot: Snapshot) -> list[str]:
    known = {key_of(one.task) for one in snapshot.history.gone}
    never = [key for key in snapshot.vanished if key not in known and snapshot.history.there]
    deleted = [
        (key_of(one.task), one)
        for number, tasks in _by_project(snapshot).items()
        if number in snapshot.history.there
        for one in tasks
    ]
    return [
        *(f"the task {key} was pushed and is not in Label Studio" for key in never),
        *(f"the task {key} was deleted (noted {_day(one.noted)}); {_their_answers([one])}" for key, one in deleted),
    ]


def _by_project(snapshot: Snapshot) -> dict[int, list[GoneTask]]:
    found: defaultdict[int, list[GoneTask]] = defaultdict(list)
    for one in snapshot.history.gone:
        found[one.project].append(one)
    return found


def _their_answers(tasks: list[GoneTask]) -> str:
    count = sum(len(one.task["annotations"]) for one in tasks)
    return f"the {count} answers to it count as they were last seen" if count else "nobody had answered"


def _altered(snapshot: Snapshot) -> list[str]:
    return [
        f"the task {key} was changed after it was pushed: someone edited {', '.join(fields) or 'a document'}; "
        "its answers are read against what was pushed"
        for key, fields in snapshot.altered
    ]


def _copies(snapshot: Snapshot) -> list[str]:
    return [
        f"the task {key} is in Label Studio {len(ids)} times (tasks {', '.join(map(str, ids))}): imported again"
        for key, ids in snapshot.copies.items()
    ]


def _why_aside(one: SetAside, snapshot: Snapshot, name: Namer) -> str:
    author = name(snapshot.account(user_of(one.annotation)))
    what = f"annotation {one.annotation['id']} of task {one.task}"
    if one.why:
        return f"the answer of {author} to the task {one.key} ({what}) does not count: {one.why}"
    writer = last_changed_by(one.annotation)
    by = f"was written by {name(snapshot.account(writer))}" if writer else "was imported, not submitted"
    counts = (
        "the author's own answer counts"
        if one.original
        else "it does not count; delete it in Label Studio, or offer the task again, if the answer is still needed"
    )
    return f"the answer of {author} to the task {one.key} ({what}) {by}: {counts}"


def _deleted_answers(snapshot: Snapshot, name: Namer) -> list[str]:
    return [
        f"the answer of {name(snapshot.account(user_of(one.annotation)))} to the task {one.key}"
        f"{_given(one.annotation)} was deleted (noted {_day(one.noted)}) and does not count"
        for one in snapshot.history.earlier
        if one.fate is Fate.DELETED
    ]


def _given(annotation: Mapping[str, Any]) -> str:
    """Say when an answer was given; nobody knows of one that Label Studio could not send."""
    at = annotation.get("updated_at")
    return f", given {_day(datetime.fromisoformat(at))}," if at else ""


def _removed_accounts(snapshot: Snapshot, name: Namer) -> list[str]:
    answered = {user for _, user in snapshot.answers}
    return [
        f"the account of {name(snapshot.account(user))} was removed; the answers stay"
        for user in snapshot.history.removed
        if user in answered
    ]


def _twice(snapshot: Snapshot, name: Namer) -> list[str]:
    return [
        f"{name(snapshot.account(user))} answered the task {key} {len(answers)} times; the newest counts"
        for (key, user), answers in snapshot.answers.items()
        if len(answers) > 1
    ]


def _skips(snapshot: Snapshot, name: Namer) -> list[str]:
    return [
        f"{name(snapshot.account(user))} skipped the task {key}"
        for (key, user), answers in snapshot.answers.items()
        if answers[0].skipped
    ]


def _foreign(snapshot: Snapshot) -> list[str]:
    if not snapshot.foreign:
        return []
    where = ", ".join(map(str, snapshot.history.there))
    return [f"{snapshot.foreign} tasks in the project {where} do not belong to this run and are left out"]


def _day(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
