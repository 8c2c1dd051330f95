"""What counts of one project: its tasks by key, and each annotator's answers to them.

The fields ``is_labeled``, ``total_annotations`` and ``finished_task_number`` of Label Studio stay
stale for ever when several people submit at once, so everything is read from the annotations.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from labelstudio_config.client import Client
from labelstudio_config.kept import Kept, remember, user_of
from labelstudio_config.projects import require_project


@dataclass(frozen=True)
class Answer:
    """One annotation of one task: submitted or skipped, never a draft.

    ``data``: of the task, without the documents. ``raw``: the annotation as Label Studio has it.
    """

    key: str
    user: int
    at: datetime
    skipped: bool
    raw: dict[str, Any]
    data: dict[str, Any]

    @property
    def age(self) -> tuple[datetime, int]:
        """Orders answers from the oldest to the newest."""
        return self.at, int(self.raw["id"])


@dataclass(frozen=True)
class Snapshot:
    """The tasks of some keys, those that are gone included as they were last seen.

    ``answers``: (task key, account id) -> answers, newest first. ``vanished``: keys without a task in
    Label Studio. ``foreign``: number of tasks that have another key.
    """

    answers: dict[tuple[str, int], list[Answer]]
    vanished: tuple[str, ...]
    foreign: int
    kept: Kept

    @property
    def project(self) -> int:
        """The id of the project."""
        return self.kept.project

    @property
    def raw(self) -> list[dict[str, Any]]:
        """The tasks as they came, without the documents; those that are gone last."""
        return [*self.kept.tasks, *(gone.task for gone in self.kept.gone)]

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
        """Return the e-mail address of an account, or a name that says what is known of it."""
        return self.kept.accounts.get(user, f"account-{user}" if user else "deleted-account")


def read_project(client: Client, title: str, keys: Collection[str]) -> Snapshot:
    """Read the tasks of a project and the answers to them, as they are now.

    Args:
        client: the server.
        title: of the project.
        keys: of the tasks that were pushed; others are foreign.

    Raises:
        ServiceError: when there is no such project, or Label Studio does not answer.
    """
    project = require_project(client, title)
    return snapshot_of(remember(None, project, client.tasks(project), client.accounts(), datetime.now(UTC)), keys)


def snapshot_of(kept: Kept, keys: Collection[str]) -> Snapshot:
    """Sort what was seen of a project; ``keys``: of the tasks that were pushed."""
    wanted = set(keys)
    mine = [task for task in kept.tasks if task["data"].get("task_key") in wanted]
    gone = [one.task for one in kept.gone if one.task["data"].get("task_key") in wanted]
    answers: dict[tuple[str, int], list[Answer]] = {}
    for task in (*mine, *gone):
        for answer in _answers(task):
            answers.setdefault((answer.key, answer.user), []).append(answer)
    for group in answers.values():
        group.sort(key=lambda answer: answer.age, reverse=True)
    present = {task["data"]["task_key"] for task in mine}
    return Snapshot(
        answers=answers,
        vanished=tuple(key for key in keys if key not in present),
        foreign=len(kept.tasks) - len(mine),
        kept=kept,
    )


def _answers(task: dict[str, Any]) -> list[Answer]:
    return [
        Answer(
            key=task["data"]["task_key"],
            user=user_of(annotation),
            at=datetime.fromisoformat(annotation["updated_at"]),
            skipped=bool(annotation["was_cancelled"]),
            raw=annotation,
            data=task["data"],
        )
        for annotation in task["annotations"]
    ]
