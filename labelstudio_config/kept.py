"""What was ever seen in a project of Label Studio, so that what is deleted there is not lost.

A task that is there counts as it is now. A task that is gone, with its whole project perhaps, counts as
it was when it was last seen. An answer that was deleted or changed while its task is still there is
kept as it was, but does not count.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

from abcdlink.corpus.records import Record

Task = dict[str, Any]
"""A task as Label Studio exports it, without the documents: these are in the run folder already."""


DELETED_ACCOUNT = 0
"""Stands for the account of an annotation whose account was gone before it was first seen."""


class Fate(StrEnum):
    """What became of an answer as it once was."""

    DELETED = "deleted"
    CHANGED = "changed"
    REQUEUED = "requeued"


class Earlier(Record):
    """An answer as it once was; ``noted``: when it was first seen to be otherwise."""

    key: str
    annotation: dict[str, Any]
    fate: Fate
    noted: datetime


class GoneTask(Record):
    """A task that is not in Label Studio any more, as it was last seen."""

    project: int
    task: Task
    noted: datetime


class Kept(Record):
    """All that was seen of a project so far.

    ``project``: id of the project that was there last; ``there``: whether it still is. ``tasks``: as they
    lie there. ``accounts``: of those who answered, id -> e-mail address; ``removed``: those that are gone.
    """

    project: int
    there: bool
    accounts: dict[int, str]
    removed: tuple[int, ...] = ()
    tasks: tuple[Task, ...] = ()
    gone: tuple[GoneTask, ...] = ()
    earlier: tuple[Earlier, ...] = ()


def remember(
    before: Kept | None,
    project: int | None,
    tasks: Sequence[Task],
    accounts: Mapping[int, str],
    now: datetime,
    requeued: Collection[int] = (),
) -> Kept:
    """Add what lies in Label Studio now to what was seen before.

    Args:
        before: what was seen before.
        project: id of the project; ``None``: there is none.
        tasks: of the project, as Label Studio exports them.
        accounts: of the server.
        now: when this was read.
        requeued: ids of annotations that we took away so that their tasks are offered again.
    """
    before = before or Kept(project=project or 0, there=project is not None, accounts={})
    seen = {_identity(task): task for task in before.tasks}
    present = [_with_known_accounts(_slim(task), seen.get(_identity(task))) for task in tasks]
    there = {_identity(task): task for task in present}
    lost = [task for identity, task in seen.items() if identity not in there]
    earlier = [
        Earlier(key=_key(task), annotation=annotation, fate=fate, noted=now)
        for task in present
        if _identity(task) in seen
        for annotation, fate in _fates(seen[_identity(task)], task, requeued)
    ]
    return Kept(
        project=before.project if project is None else project,
        there=project is not None,
        accounts=before.accounts | {user: accounts[user] for user in _users(present) if user in accounts},
        removed=tuple(sorted(before.accounts.keys() - accounts.keys())),
        tasks=tuple(present),
        gone=(
            *(gone for gone in before.gone if _identity(gone.task) not in there),
            *(GoneTask(project=before.project, task=task, noted=now) for task in lost),
        ),
        earlier=(*before.earlier, *earlier),
    )


def answer_in(annotation: Mapping[str, Any]) -> tuple[Any, bool]:
    """Return what an annotation says, whatever else Label Studio notes of it."""
    return annotation["result"], bool(annotation["was_cancelled"])


def user_of(annotation: dict[str, Any]) -> int:
    """Return the id of the account: Label Studio gives an id, an object, or nothing when it is deleted."""
    completed_by = annotation["completed_by"]
    return int(completed_by["id"] if isinstance(completed_by, dict) else completed_by or DELETED_ACCOUNT)


def _identity(task: Task) -> tuple[int, str]:
    """Tell tasks apart, also those of a server that began anew and gives the same ids again."""
    return task["id"], str(task.get("created_at"))


def _users(tasks: Sequence[Task]) -> list[int]:
    return sorted({user_of(annotation) for task in tasks for annotation in task["annotations"]})


def _key(task: Task) -> str:
    return str(task["data"].get("task_key", ""))


def _slim(task: Task) -> Task:
    """Leave out the documents, and the age of drafts, which is another at each look."""
    data = {name: value for name, value in task["data"].items() if not name.endswith("_html")}
    drafts = [{name: value for name, value in draft.items() if name != "created_ago"} for draft in _drafts(task)]
    return {**task, "data": data, "drafts": drafts}


def _drafts(task: Task) -> list[dict[str, Any]]:
    return task.get("drafts") or []


def _with_known_accounts(task: Task, before: Task | None) -> Task:
    """Put back whose answer it is, where Label Studio forgot that with the account."""
    whose = {one["id"]: one["completed_by"] for one in before["annotations"]} if before else {}
    annotations = [
        one if one["completed_by"] is not None else {**one, "completed_by": whose.get(one["id"])}
        for one in task["annotations"]
    ]
    return {**task, "annotations": annotations}


def _fates(before: Task, now: Task, requeued: Collection[int]) -> list[tuple[dict[str, Any], Fate]]:
    """Return the answers that are not as they were, as they were."""
    there = {annotation["id"]: annotation for annotation in now["annotations"]}
    found = []
    for annotation in before["annotations"]:
        number = annotation["id"]
        if number not in there:
            found.append((annotation, Fate.REQUEUED if number in requeued else Fate.DELETED))
        elif answer_in(there[number]) != answer_in(annotation):
            found.append((annotation, Fate.CHANGED))
    return found
