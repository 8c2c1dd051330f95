"""What lies in Label Studio for one batch: its tasks by key, and each annotator's answers to them.

The fields ``is_labeled``, ``total_annotations`` and ``finished_task_number`` of Label Studio stay
stale for ever when several people submit at once, so everything is read from the annotations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from abcdlink.judgments import Pool
from labelstudio_config.client import Client
from labelstudio_config.projects import require_project

SIMULATED_DOMAIN = "@simulated.invalid"
"""Ending of the e-mail addresses of programs that annotate; ``.invalid`` can be no one's address."""

DELETED_ACCOUNT = 0
"""Stands for the account of an annotation whose account is gone."""


@dataclass(frozen=True)
class Answer:
    """One annotation of one task: submitted or skipped, never a draft."""

    key: str
    user: int
    at: datetime
    skipped: bool
    raw: dict[str, Any]
    candidates: tuple[str, ...]

    @property
    def age(self) -> tuple[datetime, int]:
        """Orders answers from the oldest to the newest."""
        return self.at, int(self.raw["id"])


@dataclass(frozen=True)
class Snapshot:
    """A batch as it lies in Label Studio.

    ``answers``: (task key, account id) -> answers, newest first. ``vanished``: keys of pools without
    a task. ``foreign``: number of tasks that belong to no pool of the batch. ``raw``: the tasks as
    they came, without the documents.
    """

    project: int
    accounts: dict[int, str]
    answers: dict[tuple[str, int], list[Answer]]
    vanished: tuple[str, ...]
    foreign: int
    raw: list[dict[str, Any]]

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
        return self.accounts.get(user, f"account-{user}" if user else "deleted-account")


def of_batch(pools: Iterable[Pool], batch: int) -> dict[str, Pool]:
    """Return the pools of one batch by their key."""
    return {pool.key: pool for pool in pools if pool.batch == batch}


def read_batch(client: Client, run_key: str, batch: int, pools: Sequence[Pool]) -> Snapshot:
    """Read the tasks of a batch and the answers to them.

    Raises:
        ServiceError: when the batch has no project, or Label Studio does not answer.
    """
    project = require_project(client, run_key, batch)
    wanted = of_batch(pools, batch)
    tasks = client.tasks(project)
    mine = [task for task in tasks if task["data"].get("task_key") in wanted]
    answers: dict[tuple[str, int], list[Answer]] = {}
    for task in mine:
        for answer in _answers(task):
            answers.setdefault((answer.key, answer.user), []).append(answer)
    for group in answers.values():
        group.sort(key=lambda answer: answer.age, reverse=True)
    present = {task["data"]["task_key"] for task in mine}
    return Snapshot(
        project=project,
        accounts=client.accounts(),
        answers=answers,
        vanished=tuple(key for key in wanted if key not in present),
        foreign=len(tasks) - len(mine),
        raw=[_without_documents(task) for task in tasks],
    )


def _answers(task: dict[str, Any]) -> list[Answer]:
    data = task["data"]
    return [
        Answer(
            key=data["task_key"],
            user=_user(annotation["completed_by"]),
            at=datetime.fromisoformat(annotation["updated_at"]),
            skipped=bool(annotation["was_cancelled"]),
            raw=annotation,
            candidates=tuple(candidate["id"] for candidate in data["candidates"]),
        )
        for annotation in task["annotations"]
    ]


def _user(completed_by: int | dict[str, Any] | None) -> int:
    """Return the id of the account: Label Studio gives an id, an object, or nothing when it is deleted."""
    return int(completed_by["id"] if isinstance(completed_by, dict) else completed_by or DELETED_ACCOUNT)


def _without_documents(task: dict[str, Any]) -> dict[str, Any]:
    """Leave out the documents: they are the same for all tasks of a pair and lie in the run folder."""
    return {**task, "data": {name: value for name, value in task["data"].items() if not name.endswith("_html")}}
