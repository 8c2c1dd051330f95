"""Middleware of our own Label Studio: pages load ``keys.js``, and everyone gets a page with their own tasks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple

import abcdlink_platform as platform
from abcdlink_guard import OWN, STATE, Row, has_begun, is_owner, other_project
from abcdlink_platform import HOME, done_and_left
from django.apps import apps
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

SCRIPT = Path(__file__).with_name("keys.js")
TAG = f'<script src="{HOME}keys.js"></script></body>'.encode()
EMAIL = re.compile(rb'(<input [^>]*name="email"[^>]* value=)""')
"""The empty field of sign-up and log-in; people from a platform sign up with the address that it gave them."""
TO_DO = "To do · "
FOR_ALL = re.compile(r" · (qualification|(batch|feedback) \d+( · [A-Z])?)$")

PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Your tasks</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 720px; margin: 40px auto; padding: 0 16px; }}
a.go {{ display: block; padding: 14px 18px; margin: 12px 0; border: 1px solid #2f6fde; border-radius: 8px;
  color: inherit; text-decoration: none; }}
a.go:hover, a.go:focus {{ background: #2f6fde22; }}
.code {{ padding: 14px 18px; border-radius: 8px; background: #2f6fde22; }}
a.go b {{ color: light-dark(#1f5fce, #8ab4ff); }}
</style></head><body><h1>Your tasks</h1>{content}
<p>Bookmark this page: it always shows what comes next. You are logged in as {account}
(<a href="/logout">log out</a>).</p></body></html>"""

NOTHING = """<p><b>There is nothing to do right now. Thank you!</b></p>
<p>After a batch there may be a short feedback round, and then the next batch. Both appear on this page
when they start; the coordinator will tell you when.</p>"""


class Work(NamedTuple):
    """A project to work on, with the number of tasks that someone has done in it and has left."""

    project: Row
    done: int
    left: int

    @property
    def for_all(self) -> bool:
        """Whether all annotators do it; others (adjudication, say) are for people whom the coordinator asks."""
        return FOR_ALL.search(self.project.title) is not None


class Pages:
    """Adds the script to every page (it only acts on pages from abcdlink), and looks after people who arrive.

    It sends them to their own page, and no late answer logs them out.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer a request."""
        has_arrived = platform.WAITING in request.COOKIES and request.user.is_authenticated
        answer = self._answer(request)
        if has_arrived:
            answer.delete_cookie(platform.WAITING)
        if not request.user.is_authenticated:
            # The session is in a cookie, which a slow answer to what was asked before a log-in (for an icon, say)
            # would replace by one without an account.
            request.session.modified = False
        return answer

    def _answer(self, request: HttpRequest) -> HttpResponse:
        if request.path == f"{HOME}keys.js":
            answer = HttpResponse(SCRIPT.read_bytes(), content_type="text/javascript; charset=utf-8")
            answer["Cache-Control"] = "no-cache"
            return answer
        if (answer := platform.answer(request) or platform.arrive(request)) is not None:
            return answer
        if request.path.startswith(HOME.rstrip("/")):
            return home(request)
        if request.path == "/" and request.user.is_authenticated and not is_owner(request.user):
            return HttpResponseRedirect(HOME)
        response = self._get_response(request)
        if not response.streaming and response.get("Content-Type", "").startswith("text/html"):
            content = response.content.replace(b"</body>", TAG, 1)
            if address := platform.address_for(request):
                content = EMAIL.sub(rb'\1"%s"' % address.encode(), content)
            response.content = content
            if "Content-Length" in response:
                response["Content-Length"] = str(len(response.content))
        return response


def home(request: HttpRequest) -> HttpResponse:
    """Show someone their projects, or open one of them."""
    if not request.user.is_authenticated:
        return HttpResponseRedirect(f"/user/login/?next={HOME}")
    chosen = re.fullmatch(rf"{HOME}go/(\d+)", request.path)
    if chosen:
        begin(int(chosen[1]), request.user)
        return HttpResponseRedirect(labelling(int(chosen[1])))
    open_work = [one for one in work_of(request.user) if one.left]
    content = "".join(link(one) for one in open_work if one.for_all or one.done) or NOTHING
    if asked := "".join(link(one) for one in open_work if not (one.for_all or one.done)):
        content += f"<h2>Only if the coordinator asked you</h2>{asked}"
    content = platform.codes_html(request.user) + content
    page = PAGE.format(content=content, account=escape(request.user.email))
    return HttpResponse(page, headers={"Cache-Control": "no-store"})


def link(one: Work) -> str:
    """Return the link to a project, as HTML."""
    return (
        f'<a class="go" href="{HOME}go/{one.project.pk}"><b>{"Continue" if one.done else "Start"}: '
        f"{escape(STATE.sub('', one.project.title))}</b><br>{one.done} of {one.done + one.left} tasks done</a>"
    )


def work_of(user: Row) -> Iterator[Work]:
    """Yield what someone can work on; of projects with one annotator each, their own or the first free one."""
    offered: set[str] = set()
    projects = apps.get_model("projects", "Project").objects.filter(
        organization=user.active_organization, title__startswith=TO_DO
    )
    for project in projects.order_by("pk"):
        name = STATE.sub("", project.title)
        if project.maximum_annotations == 1 and OWN.fullmatch(name):
            if other_project(project, user) or name[:-1] in offered or is_taken(project, user):
                continue
            offered.add(name[:-1])
        yield Work(project, *done_and_left(project, user))


def is_taken(project: Row, user: Row) -> bool:
    """Tell whether a project for one annotator belongs to someone else."""
    if has_begun(project, user):
        return False
    answered = apps.get_model("tasks", "Annotation").objects.filter(project=project).exists()
    members = apps.get_model("projects", "ProjectMember").objects.filter(project=project)
    return bool(answered or members.exclude(user=project.created_by).exists())


def begin(number: int, user: Row) -> None:
    """Note that a project for one annotator is theirs, so that the next person gets another."""
    projects = apps.get_model("projects", "Project").objects
    with transaction.atomic():
        project = projects.select_for_update().filter(pk=number, organization=user.active_organization).first()
        if project and not is_taken(project, user) and not other_project(project, user):
            apps.get_model("projects", "ProjectMember").objects.get_or_create(project=project, user=user)


def labelling(number: int) -> str:
    """Return the address where one labels the tasks of a project."""
    tab = apps.get_model("data_manager", "View").objects.filter(project=number, data__title="Annotate").first()
    return f"/projects/{number}/data?{f'tab={tab.pk}&' if tab else ''}labeling=1"
