"""Stands in for a Label Studio server and ``Client``: projects, tasks, annotations and accounts in memory."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from copy import deepcopy
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import labelstudio_config.batches
import labelstudio_config.projects
import labelstudio_config.run
from abcdlink.judgments import Pool
from abcdlink.layout import POOLS
from abcdlink.settings import get_settings
from abcdlink.store import Store, open_run
from labelstudio_config.client import Client, without_state
from labelstudio_config.pages.annotate import LinkingPage
from tasks.projects import push
from tests.helpers.annotation import as_read
from tests.helpers.example_run import make_pools, take_in
from tests.helpers.homes import configure

ADA, BEN, CY = 7, 8, 9
PEOPLE = {ADA: "ada@example.org", BEN: "ben@example.org", CY: "cy@example.org"}


class FakeLabelStudio(Client):
    """What ``Client`` does, plus what annotators and careless people do to the server's data."""

    def __init__(self) -> None:
        self.url = "http://127.0.0.1:1"
        self.people = dict(PEOPLE)
        self.projects: dict[int, dict[str, Any]] = {}
        self.held: dict[int, list[dict[str, Any]]] = {}
        self.ids = count(1)
        self.minutes = count(0)
        self.exports = 0
        self.came: list[dict[str, str]] = []

    def projects_titled(self, title: str) -> dict[int, int]:
        return {
            n: len(self.held[n]) for n, project in self.projects.items() if without_state(project["title"]) == title
        }

    def create_project(self, **settings: Any) -> int:
        number = next(self.ids)
        self.projects[number], self.held[number] = settings, []
        return number

    def invitation(self) -> str:
        return f"{self.url}/user/signup/?token=invitation"

    def project(self, project: int) -> tuple[str, str] | None:
        found = self.projects.get(project)
        return None if found is None else (without_state(found["title"]), f"made-{project}")

    def change_project(self, project: int, **settings: str) -> None:
        self.projects[project] |= settings

    def delete_project(self, project: int) -> None:
        del self.projects[project], self.held[project]

    def create_tab(self, _project: int, _data: dict[str, Any]) -> int:
        return next(self.ids)

    def tabs(self, _project: int) -> list[dict[str, Any]]:
        return []

    def counts(self, project: int) -> tuple[int, ...]:
        return len(self.held[project]), 0, 0

    def import_tasks(self, project: int, tasks: Sequence[dict[str, Any]]) -> None:
        for task in tasks:
            number = next(self.ids)
            new = {"id": number, "created_at": f"t{number}", "annotations": [], "drafts": [], **deepcopy(task)}
            self.held[project].append(new)

    def tasks(self, project: int) -> list[dict[str, Any]]:
        self.exports += 1
        return deepcopy(self.held[project])

    def delete_task(self, task: int) -> None:
        for held in self.held.values():
            held[:] = [one for one in held if one["id"] != task]

    def delete_annotation(self, annotation: int) -> None:
        for task in self.all_tasks():
            task["annotations"] = [one for one in task["annotations"] if one["id"] != annotation]

    def participants(self) -> list[dict[str, str]]:
        return self.came

    def home(self) -> str:
        return ""

    def accounts(self) -> dict[int, str]:
        return dict(self.people)

    def all_tasks(self) -> list[dict[str, Any]]:
        return [task for held in self.held.values() for task in held]

    def task(self, key: str, project: int | None = None) -> dict[str, Any]:
        """Return the task with a key; there must be exactly one, in the project where one is named."""
        there = self.all_tasks() if project is None else self.held[project]
        (found,) = (task for task in there if task["data"]["task_key"] == key)
        return found

    def answer(
        self, key: str, user: int, label: str = "Link", skipped: bool = False, project: int | None = None
    ) -> int:
        """Submit one label for all candidates, or skip; returns the id of the annotation."""
        task, number, at = self.task(key, project), next(self.ids), f"2026-01-01T{next(self.minutes) // 60:02}:00:00Z"
        chosen = [] if skipped else range(len(task["data"]["candidates"]))
        result = [{"from_name": f"link_{n}", "value": {"choices": [label]}} for n in chosen]
        task["annotations"].append(as_read(number, user, result, at, cancelled=skipped) | {"lead_time": 2.0})
        return number

    def change(self, annotation: int, label: str, by: int | None = None) -> None:
        """Change all labels of an annotation; ``by`` is the account that does so, by default its author."""
        for task in self.all_tasks():
            for one in task["annotations"]:
                if one["id"] == annotation:
                    one["updated_by"] = by or one["completed_by"]
                    for result in one["result"]:
                        result["value"]["choices"] = [label]

    def draft(self, key: str, user: int) -> None:
        """Begin a task and leave it."""
        self.task(key)["drafts"].append({"id": next(self.ids), "user": PEOPLE[user], "created_ago": "0 minutes"})

    def remove_account(self, user: int) -> None:
        """Delete an account; its annotations stay and belong to nobody."""
        del self.people[user]
        for task in self.all_tasks():
            for one in task["annotations"]:
                if one["completed_by"] == user:
                    one["completed_by"] = None
                if one["updated_by"] == user:
                    one["updated_by"] = None


def serve(monkeypatch: pytest.MonkeyPatch) -> FakeLabelStudio:
    """Let all steps talk to a fake server."""
    fake = FakeLabelStudio()
    for module in (labelstudio_config.run, labelstudio_config.projects, labelstudio_config.batches):
        monkeypatch.setattr(module, "label_studio", lambda: fake)
    return fake


def pushed_run(key: str, tasks: int, *, shared: bool = True) -> Store:
    """Make a run with one batch of this many tasks, two annotators each, that is in the fake server."""
    folder, original, following = _pushed(key, tasks, shared=shared)
    store, server = open_run(key), labelstudio_config.run.label_studio()
    shutil.copytree(Path(folder.name) / key, store.where())
    server.projects, server.held = deepcopy((original.projects, original.held))
    server.ids = count(following)
    return store


@cache
def _pushed(key: str, tasks: int, *, shared: bool) -> tuple[TemporaryDirectory[str], FakeLabelStudio, int]:
    """Return the folder of runs, the server and its next id; made once and copied for each test."""
    folder = TemporaryDirectory(prefix="abcdlink-pushed-")
    with pytest.MonkeyPatch.context() as patch:
        server = serve(patch)
        configure(patch, runs=folder.name)
        store = open_run(key)
        make_pools(store, take_in(store))
        store.write_records(POOLS, [pool for pool in store.read_records(POOLS, Pool) if pool.batch == 1][:tasks])
        store.note("annotation", {"batches": 1, "overlap": 2})
        push.fn(key, "news", LinkingPage(batch=1, overlap=2, shared=shared))
    get_settings.cache_clear()
    return folder, server, next(server.ids)
