"""What counts in the projects with some tasks: the tasks by key, and each annotator's answers to them.

The fields ``is_labeled``, ``total_annotations`` and ``finished_task_number`` of Label Studio stay
wrong for good when several people submit at once, so everything is read from the annotations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from math import isfinite
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from labelstudio_config.history import Fate, History, Task, is_its_authors, key_of, user_of

FLAG = "flag"
"""Name of the flags in every label config that has them; they decide nothing."""
UNREADABLE = "unreadable"
"""Field that says why Label Studio could not send an annotation."""


class MalformedError(Exception):
    """The page cannot have submitted this annotation; the message says why."""


class Given(NamedTuple):
    """An answer: name in the label config -> choices, and name -> text, its lines joined."""

    choices: dict[str, list[str]]
    texts: dict[str, str]


class _Value(BaseModel):
    model_config = ConfigDict(strict=True)
    choices: list[str] = []
    text: str | list[str] = ""


class _Part(BaseModel):
    model_config = ConfigDict(strict=True)
    from_name: str
    value: _Value


_PARTS = TypeAdapter(list[_Part])


def read_given(annotation: Mapping[str, Any]) -> Given:
    """Read what an annotation says; raises ``MalformedError`` when the page cannot have submitted it."""
    if UNREADABLE in annotation:
        raise MalformedError(annotation[UNREADABLE])
    result = annotation.get("result")
    try:
        parts = _PARTS.validate_python(result)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        msg = f"its result{f' at {place}' if place else ''} is not what the page submits ({first['msg']})"
        raise MalformedError(msg) from None
    chosen = [(part.from_name, part.value.choices) for part in parts if "choices" in part.value.model_fields_set]
    choices = dict(chosen)
    contradicted = next((name for name, given in chosen if given != choices[name]), None)
    if contradicted is not None:
        msg = f"its result gives {contradicted} twice, not the same"
        raise MalformedError(msg)
    if not choices.keys() - {FLAG} and not annotation.get("was_cancelled"):
        msg = "it decides nothing"  # every page requires a choice
        raise MalformedError(msg)
    return Given(
        choices,
        {part.from_name: _joined(part.value.text) for part in parts if "text" in part.value.model_fields_set},
    )


def _joined(text: str | list[str]) -> str:
    return (text if isinstance(text, str) else "\n".join(text)).strip()


@dataclass(frozen=True)
class TaskAnswer:
    """One annotation of one task: submitted or skipped, never a draft.

    ``data``: of the task as it was pushed, without the documents. ``given``: the choices and texts.
    ``raw``: the annotation as Label Studio has it.
    """

    key: str
    user: int
    at: datetime
    skipped: bool
    given: Given
    raw: dict[str, Any]
    data: Mapping[str, Any]

    @property
    def age(self) -> tuple[datetime, int]:
        """Sorts answers from the oldest to the newest."""
        return self.at, int(self.raw["id"])

    @property
    def seconds(self) -> float | None:
        """Time spent on the task; ``None`` if it is unknown or not a valid time."""
        seconds = self.raw.get("lead_time")
        return float(seconds) if isinstance(seconds, int | float) and isfinite(seconds) and seconds >= 0 else None


@dataclass(frozen=True)
class SetAside:
    """An annotation that does not count as it stands.

    ``why``: what is wrong with it; empty if someone other than its author wrote it. ``original``: the author's
    own answer is known and counts instead.
    """

    key: str
    task: int
    annotation: dict[str, Any]
    why: str = ""
    original: bool = False


@dataclass(frozen=True)
class PushedCopy:
    """The tasks as they were pushed. ``digests``: of their data, by key; ``load``: reads the data, by key."""

    digests: Mapping[str, str] = field(default_factory=dict)
    load: Callable[[], Mapping[str, Mapping[str, Any]]] = dict

    def differs(self, task: Task) -> bool:
        """Tell whether the data of a task differ from what was pushed."""
        return "digest" in task and task["digest"] != self.digests.get(key_of(task), task["digest"])


@dataclass(frozen=True)
class Snapshot:
    """The tasks with some keys; those that are gone are included as they were last seen.

    ``answers``: (task key, account id) -> answers, newest first. ``set_aside``: annotations that do not
    count as they are. ``altered``: (task key, fields) of the tasks whose data differ from what was pushed.
    ``copies``: task key -> ids, of those that are in one project more than once. ``vanished``: keys without a task
    in Label Studio. ``foreign``: number of tasks that have another key.
    """

    answers: dict[tuple[str, int], list[TaskAnswer]]
    set_aside: tuple[SetAside, ...]
    altered: tuple[tuple[str, tuple[str, ...]], ...]
    copies: dict[str, list[int]]
    vanished: tuple[str, ...]
    foreign: int
    history: History

    @property
    def raw(self) -> list[dict[str, Any]]:
        """The tasks as they were read, without the documents; those that are gone come last."""
        return [*self.history.tasks, *(gone.task for gone in self.history.gone)]

    def accounts_of(self, key: str) -> set[int]:
        """Return the ids of the accounts that submitted or skipped a task."""
        return self._by_task.get(key, set())

    @cached_property
    def _by_task(self) -> dict[str, set[int]]:
        found: dict[str, set[int]] = {}
        for key, user in self.answers:
            found.setdefault(key, set()).add(user)
        return found

    def account(self, user: int) -> str:
        """Return the e-mail address of an account, or a name made of what is known about it."""
        return self.history.accounts.get(user, f"account-{user}" if user else "deleted-account")


def snapshot_of(history: History, keys: Collection[str], pushed: PushedCopy | None = None) -> Snapshot:
    """Sort what has been seen of the tasks with these keys.

    ``pushed``: the tasks as they were pushed; ``None`` if that is unknown; tasks then count as they are.
    """
    pushed, wanted = pushed or PushedCopy(), set(keys)
    mine = sorted((task for task in history.tasks if key_of(task) in wanted), key=lambda task: int(task["id"]))
    gone = [one.task for one in history.gone if key_of(one.task) in wanted]
    ids: dict[tuple[int, str], list[int]] = {}
    for task in mine:
        ids.setdefault((task["project"], key_of(task)), []).append(task["id"])
    there = {key for _, key in ids}
    altered = [task for task in mine if pushed.differs(task)]
    as_pushed = pushed.load() if any(map(pushed.differs, (*mine, *gone))) else {}
    reading = _Reading(pushed, as_pushed, _originals(history))
    for task in mine:
        reading.read(task, copy=task["id"] != ids[task["project"], key_of(task)][0])
    for task in gone:
        reading.read(task, copy=False)
    for group in reading.answers.values():
        group.sort(key=lambda answer: answer.age, reverse=True)
    return Snapshot(
        answers=reading.answers,
        set_aside=tuple(reading.set_aside),
        altered=tuple((key_of(task), reading.fields_altered(task)) for task in altered),
        copies={key: several for (_, key), several in ids.items() if len(several) > 1},
        vanished=tuple(key for key in keys if key not in there),
        foreign=len(history.tasks) - len(mine),
        history=history,
    )


def _originals(history: History) -> dict[int, dict[str, Any]]:
    """Return annotation id -> the author's newest answer before someone else changed it."""
    return {
        one.annotation["id"]: one.annotation
        for one in history.earlier
        if one.fate is not Fate.REQUEUED and is_its_authors(one.annotation)
    }


@dataclass
class _Reading:
    """Sorts annotations into answers that count and those that are set aside."""

    pushed: PushedCopy
    as_pushed: Mapping[str, Mapping[str, Any]]
    originals: Mapping[int, dict[str, Any]]
    answers: dict[tuple[str, int], list[TaskAnswer]] = field(default_factory=dict)
    set_aside: list[SetAside] = field(default_factory=list)

    def read(self, task: Task, *, copy: bool) -> None:
        """Read one task; ``copy``: there is an older one with its key."""
        for annotation in task["annotations"]:
            aside = SetAside(key_of(task), task["id"], annotation)
            if copy and self.pushed.differs(task):
                self._set_aside(aside, "it belongs to a copy of the task with different texts")
            elif is_its_authors(annotation):
                self._count(task, annotation, aside)
            else:
                original = self.originals.get(annotation["id"])
                counted = original is not None and self._count(task, original, aside)
                self.set_aside.append(SetAside(aside.key, aside.task, annotation, original=counted))

    def fields_altered(self, task: Task) -> tuple[str, ...]:
        """Return the fields of a task that differ from what was pushed; documents are compared by digest."""
        was, now = self._as_pushed(task), task["data"]
        names = [name for name in dict.fromkeys([*was, *now]) if not name.endswith("_html")]
        return tuple(name for name in names if name != "task_key" and was.get(name) != now.get(name))

    def _as_pushed(self, task: Task) -> Mapping[str, Any]:
        return self.as_pushed.get(key_of(task), task["data"]) if self.pushed.differs(task) else task["data"]

    def _count(self, task: Task, annotation: dict[str, Any], aside: SetAside) -> bool:
        """Read an annotation as an answer; an unreadable one is set aside."""
        try:
            given = read_given(annotation)
        except MalformedError as error:
            self._set_aside(aside, str(error))
            return False
        answer = TaskAnswer(
            key=aside.key,
            user=user_of(annotation),
            at=datetime.fromisoformat(annotation["updated_at"]),
            skipped=bool(annotation.get("was_cancelled")),
            given=given,
            raw=annotation,
            data=self._as_pushed(task),
        )
        self.answers.setdefault((answer.key, answer.user), []).append(answer)
        return True

    def _set_aside(self, aside: SetAside, why: str) -> None:
        self.set_aside.append(SetAside(aside.key, aside.task, aside.annotation, why))
