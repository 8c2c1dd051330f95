"""The queue of a tab counts answers and locks: a task that enough people have taken is not offered to others.

In a closed project nothing is.

Label Studio offers the first task of a tab that is not marked as done. It does not check who has a task open, so
people who share a project would all judge the same task. When two people submit a task at the same moment, each of
their requests counts the answers and writes the mark; the one that counted first may write last, and the task stays
open with all its answers.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from abcdlink_guard import CLOSED, OWN, STATE
from django.apps import apps
from django.conf import settings
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.utils.timezone import now

Row = Any
"""A record, or a query, of Label Studio's database; its types are not known here."""

CHOOSING = threading.Lock()
"""The server is one process, so this keeps two people who ask at once from being offered the same task."""


def heed_locks(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Change how the next task is chosen; a middleware that leaves requests alone. It may be loaded several times."""
    from data_manager.actions import next_task as action
    from projects.functions.next_task import get_next_task as choose

    def choose_untaken(user: Row, tasks: Row, project: Row, *more: object) -> tuple[Row, str]:
        with CHOOSING:
            # Answers that come after a project was closed count nowhere.
            left = tasks.none() if project.title.startswith(CLOSED) else tasks.exclude(pk__in=taken(user, project))
            found: tuple[Row, str] = choose(user, left, project, *more)
            # Label Studio does not renew a lock when everyone who may answer already has one.
            until = now() + timedelta(seconds=settings.TASK_LOCK_TTL)
            _rows("TaskLock").filter(task=found[0], user=user).update(expire_at=until)
        return found

    action.get_next_task = choose_untaken
    return get_response


def taken(user: Row, project: Row) -> list[int]:
    """Return the tasks that enough others have answered or have open.

    Those with all their answers are marked as done. A lock is released after its answer is stored, so locks are read
    first: whoever submits meanwhile is seen at least once.
    """
    locks = _rows("TaskLock").filter(task__project=project, expire_at__gt=now()).exclude(user=user)
    if project.maximum_annotations == 1 and OWN.fullmatch(STATE.sub("", project.title)):
        # Who only looks into somebody's own project, the coordinator for instance, holds nothing back there.
        members = apps.get_model("projects", "ProjectMember").objects.filter(project=project)
        theirs = members.exclude(user=project.created_by).values("user")
        answered_by = _rows("Annotation").filter(project=project).values("completed_by")
        locks = locks.filter(Q(user__in=theirs) | Q(user__in=answered_by))
    people: dict[int, set[int]] = defaultdict(set)
    for task, person in locks.values_list("task", "user"):
        people[task].add(person)
    answers = _rows("Annotation").filter(Q(task__is_labeled=False) | Q(task__in=list(people)), task__project=project)
    answered: dict[int, set[int]] = defaultdict(set)
    for task, person in answers.filter(was_cancelled=False).values_list("task", "completed_by"):
        people[task].add(person)
        answered[task].add(person)
    wanted = dict(_rows("Task").filter(pk__in=list(people)).values_list("pk", "overlap"))
    done = [task for task in answered if len(answered[task]) >= wanted.get(task, 1)]
    _rows("Task").filter(pk__in=done, is_labeled=False).update(is_labeled=True)
    return [task for task, those in people.items() if len(those) >= wanted.get(task, 1)]


def _rows(model: str) -> Row:
    return apps.get_model("tasks", model).objects
