"""Everything that was ever seen in Label Studio's projects, so that nothing deleted there is lost.

A task that still exists counts as it is now. A task that is gone, perhaps with its whole project, counts as
it was when it was last seen. An answer that was deleted or changed while its task is still there is
kept as it was, but does not count, unless somebody else changed it: then it counts as its author gave it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticKnownError, PydanticSerializationError, to_json

from abcdlink.corpus.records import Record
from abcdlink.errors import ServiceError, fault_in


class _Identified(BaseModel):
    id: int


class _Answered(_Identified):
    """An annotation; of one that Label Studio cannot send, only the id and perhaps the author are known."""

    unreadable: str = ""
    updated_at: datetime | None = Field(None, validate_default=True)

    @field_validator("updated_at")
    @classmethod
    def _is_known(cls, value: datetime | None, info: ValidationInfo) -> datetime | None:
        if value is None and not info.data.get("unreadable"):
            raise PydanticKnownError("missing")  # noqa: EM101 - a kind of error, not a message
        return value


class _TaskParts(_Identified):
    project: int
    data: Any
    annotations: tuple[_Answered, ...]
    drafts: tuple[dict[str, Any], ...] | None = None


def _is_task(task: dict[str, Any]) -> dict[str, Any]:
    _TaskParts.model_validate(task)
    return task


def require_tasks(tasks: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return tasks as they are; ``ServiceError`` where what no caller can set in Label Studio is not as it sets it."""
    try:
        return [_is_task(task) for task in tasks]
    except ValidationError as error:
        msg = f"Label Studio exports a task that cannot be read: {fault_in(error)}"
        raise ServiceError(msg, "check with `abcdlink doctor` which Label Studio this is, and its version") from None


Task = dict[str, Any]
"""A task as Label Studio exports it, without the documents: these are in the run folder already."""


DIGEST_DIGITS = 16

DELETED_ACCOUNT = 0
"""Stands for the account of an annotation if it was gone before the annotation was first seen."""


class Fate(StrEnum):
    """What became of an answer as it once was."""

    DELETED = "deleted"
    CHANGED = "changed"
    OVERWRITTEN = "overwritten"
    REQUEUED = "requeued"


class Earlier(Record):
    """An earlier version of an answer; ``noted``: when the change was first seen."""

    key: str
    annotation: dict[str, Any]
    fate: Fate
    noted: datetime


class GoneTask(Record):
    """A task that was deleted in Label Studio, as it was last seen."""

    project: int
    task: Annotated[Task, AfterValidator(_is_task)]
    noted: datetime


class History(Record):
    """All that has been seen so far of the projects with some tasks.

    ``there``: ids of the projects that exist. ``tasks``: as they are in them. ``accounts``: of those who
    answered, id -> e-mail address; ``removed``: those that are gone.
    """

    there: tuple[int, ...] = ()
    accounts: dict[int, str]
    removed: tuple[int, ...] = ()
    tasks: tuple[Annotated[Task, AfterValidator(_is_task)], ...] = ()
    gone: tuple[GoneTask, ...] = ()
    earlier: tuple[Earlier, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _of_one_project(cls, values: Any) -> Any:  # noqa: ANN401 - whatever was kept
        """Read what was kept while there was one project: its id, and whether it was there."""
        if isinstance(values, dict) and "project" in values:
            number, there = values["project"], values["there"]
            tasks = [{"project": number, **task} for task in values.get("tasks", ())]
            rest = {name: value for name, value in values.items() if name != "project"}
            return {**rest, "there": (number,) if there else (), "tasks": tasks}
        return values


def remember(
    before: History | None,
    there: Sequence[int],
    tasks: Sequence[Task],
    accounts: Mapping[int, str],
    now: datetime,
    requeued: Collection[int] = (),
) -> History:
    """Add what is in Label Studio now to what was seen before.

    ``there``: ids of the projects that exist; ``tasks``: theirs, as Label Studio exports them. ``requeued``: ids of
    annotations that we removed so that their tasks are offered again.
    """
    before = before or History(accounts={})
    seen = {_identity(task): task for task in before.tasks}
    present = [_with_what_is_known(_slim(task), seen.get(_identity(task))) for task in tasks]
    present_ids = {_identity(task) for task in present}
    lost = [task for identity, task in seen.items() if identity not in present_ids]
    earlier = [
        Earlier(key=key_of(task), annotation=annotation, fate=fate, noted=now)
        for task in present
        if _identity(task) in seen
        for annotation, fate in _fates(seen[_identity(task)], task, requeued)
    ]
    return History(
        there=tuple(there),
        accounts=before.accounts | {user: accounts[user] for user in _users(present) if user in accounts},
        removed=tuple(sorted(before.accounts.keys() - accounts.keys())),
        tasks=tuple(present),
        gone=(
            *(gone for gone in before.gone if _identity(gone.task) not in present_ids),
            *(GoneTask(project=task["project"], task=task, noted=now) for task in lost),
        ),
        earlier=(*before.earlier, *earlier),
    )


def answer_in(annotation: Mapping[str, Any]) -> tuple[Any, bool]:
    """Return what an annotation says, without what Label Studio notes about it."""
    return annotation.get("result"), bool(annotation.get("was_cancelled"))


def user_of(annotation: Mapping[str, Any]) -> int:
    """Return the id of the account whose answer an annotation is, as it was when it was first seen."""
    return _account(annotation.get("author", annotation.get("completed_by")))


def last_changed_by(annotation: Mapping[str, Any]) -> int:
    """Return the id of the account that wrote an annotation last; 0: it was imported, or the account is deleted."""
    return _account(annotation.get("updated_by"))


def is_its_authors(annotation: Mapping[str, Any]) -> bool:
    """Tell whether an annotation is what its author submitted.

    In Label Studio Community every account can change every annotation, submit one in the name of another
    account, and import tasks that bring annotations along. The server notes who wrote an annotation last,
    which no caller can set; an imported annotation has no such note.
    """
    return last_changed_by(annotation) == _account(annotation.get("completed_by")) == user_of(annotation)


def digest_of(data: Mapping[str, Any]) -> str:
    """Return the digest of the data of a task, its key included: 16 hex digits of a SHA-256."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:DIGEST_DIGITS]


def _account(value: Any) -> int:  # noqa: ANN401 - Label Studio gives an id, an object, or nothing
    value = value.get("id") if isinstance(value, dict) else value
    return value if isinstance(value, int) else DELETED_ACCOUNT


def _identity(task: Task) -> tuple[int, str]:
    """Return what identifies a task, even on a server that was set up again and reuses the ids."""
    return task["id"], str(task.get("created_at"))


def _users(tasks: Sequence[Task]) -> list[int]:
    annotations = [annotation for task in tasks for annotation in task["annotations"]]
    return sorted({person(one) for one in annotations for person in (user_of, last_changed_by)})


def key_of(task: Task) -> str:
    """Return the key of a task; empty if it has none and is therefore not ours."""
    key = task["data"].get("task_key") if isinstance(task["data"], dict) else None
    return key if isinstance(key, str) else ""


def _slim(task: Task) -> Task:
    """Replace the documents by a digest, and leave out the age of drafts, which differs each time."""
    whole = task["data"] if isinstance(task["data"], dict) else {}
    data = {name: value for name, value in whole.items() if not name.endswith("_html")}
    drafts = [{name: value for name, value in draft.items() if name != "created_ago"} for draft in _drafts(task)]
    slim = {**task, "data": data, "drafts": drafts, "digest": digest_of(whole)}
    try:
        to_json(slim)
    except PydanticSerializationError:
        slim = {name: _encodable(value) for name, value in slim.items()}
    return slim


DEEPEST = 50
"""Lists in lists: what pages submit has five."""


def _encodable(value: Any, depth: int = 0) -> Any:  # noqa: ANN401 - any JSON value
    """Replace lone surrogates, which JSON can hold and no file can, and what is nested too deeply for any page."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if depth == DEEPEST:
        return None
    if isinstance(value, dict):
        return {_encodable(name): _encodable(one, depth + 1) for name, one in value.items()}
    return [_encodable(one, depth + 1) for one in value] if isinstance(value, list) else value


def _drafts(task: Task) -> list[dict[str, Any]]:
    return task.get("drafts") or []


def _with_what_is_known(task: Task, before: Task | None) -> Task:
    """Restore the key of a task and the authors of its answers if they were changed or lost since."""
    known = {one["id"]: one for one in before["annotations"]} if before else {}
    annotations = [_with_author(one, known.get(one["id"])) for one in task["annotations"]]
    key = {"task_key": key_of(before)} if before and key_of(before) else {}
    return {**task, "data": {**task["data"], **key}, "annotations": annotations}


def _with_author(annotation: Task, before: Task | None) -> Task:
    """Note whose annotation it was when it was first seen; Label Studio forgets that with the account."""
    if before is None:
        return {**annotation, "author": user_of(annotation)}
    forgotten = annotation["completed_by"] is None
    known = {"completed_by": before["completed_by"]} if forgotten else {}
    if forgotten and annotation.get("updated_by") is None:
        known["updated_by"] = before.get("updated_by")
    return {**annotation, **known, "author": user_of(before)}


def _fates(before: Task, now: Task, requeued: Collection[int]) -> list[tuple[dict[str, Any], Fate]]:
    """Return the earlier versions of the answers that have changed."""
    there = {annotation["id"]: annotation for annotation in now["annotations"]}
    found = []
    for annotation in before["annotations"]:
        number = annotation["id"]
        if number not in there:
            found.append((annotation, Fate.REQUEUED if number in requeued else Fate.DELETED))
        elif is_its_authors(annotation) and not is_its_authors(there[number]):
            found.append((annotation, Fate.OVERWRITTEN))
        elif answer_in(there[number]) != answer_in(annotation):
            found.append((annotation, Fate.CHANGED))
    return found
