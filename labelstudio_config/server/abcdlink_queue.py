"""The queue of a tab heeds locks: a task that enough people have before them is not offered to others meanwhile.

Label Studio notes who has a task before them, but chooses the first task of a tab that is not answered yet, whoever has
it. So people who share a project all judge the same task, and most of their work is more than was asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from django.apps import apps
from django.http import HttpRequest, HttpResponse
from django.utils.timezone import now

Row = Any
"""A record, or a query, of Label Studio's database; its types are not known here."""

CHOOSING = threading.Lock()
"""The server is one process: two people who ask at one moment are not offered the same task."""


def heed_locks(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Be a middleware that changes how the next task is chosen, and no request; it may be loaded several times."""
    from data_manager.actions import next_task as action
    from projects.functions.next_task import get_next_task as choose

    def choose_unlocked(user: Row, tasks: Row, project: Row, *more: object) -> tuple[Row, str]:
        with CHOOSING:
            found: tuple[Row, str] = choose(user, tasks.exclude(pk__in=locked(user, project)), project, *more)
        return found

    action.get_next_task = choose_unlocked
    return get_response


def locked(user: Row, project: Row) -> list[int]:
    """Return the tasks that as many others have answered, or have before them, as are to answer it."""
    held = (
        apps.get_model("tasks", "TaskLock")
        .objects.filter(task__project=project, expire_at__gt=now())
        .exclude(user=user)
    )
    tasks = apps.get_model("tasks", "Task").objects.filter(pk__in=held.values("task"))
    return [task.pk for task in tasks if task.has_lock(user)]
