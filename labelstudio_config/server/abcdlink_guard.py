"""Middleware of our own Label Studio: annotators see and change only their own answers.

Label Studio Community has no roles: every account may read and change everything. Here, an account that is not the
organization's owner can do what the labelling page does and nothing else. A refused request is told why.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from django.apps import apps
from django.http import HttpRequest, HttpResponse, JsonResponse

Row = Any
"""A record of Label Studio's database: a user, a project. Its types are not known here."""
JSON = Any

READS = ("GET", "HEAD", "OPTIONS")

WRITES = {
    r"tasks/(?P<task>\d+)/annotations": "POST",
    r"tasks/(?P<task>\d+)/drafts": "POST",
    r"tasks/(?P<task>\d+)/annotations/(?P<annotation>\d+)/drafts": "POST",
    r"annotations/(?P<annotation>\d+)": "PATCH DELETE",
    r"annotations/(?P<annotation>\d+)/convert-to-draft": "POST",
    r"drafts/(?P<draft>\d+)": "PATCH DELETE",
    r"dm/actions": "POST",
    r"dm/views/\d+/selected-items": "POST PATCH DELETE",
    r"users/(?P<user>\d+)(/avatar)?": "PATCH POST DELETE",
    r"current-user/.*": "POST PATCH PUT",
    r"token.*": "POST",
}
"""Paths below /api/ -> what annotators may do there, if it is their own."""

NOT_READ = r"projects/\d+/(export|annotators).*|organizations/\d+/memberships.*|invite.*|webhooks.*|storages.*"
"""Paths below /api/ that annotators do not read."""

PLACES = (
    *(r"tasks/(?P<task>\d+).*", r"annotations/(?P<annotation>\d+).*", r"drafts/(?P<draft>\d+).*"),
    *(r"projects/(?P<project>\d+).*", r"users/(?P<user>\d+).*"),
)

WITH_ANSWERS = r"tasks.*|dm/tasks.*|dm/views.*|dm/actions|projects/\d+/(next|tasks)"
STATE = re.compile(r"^(To do|Closed) · ")
CLOSED = "Closed · "
OWN = re.compile(r".* · [A-Z]")
"""The title of one annotator's own project, without its prefix."""


class OwnWorkOnly:
    """Refuses what annotators may not do, and removes other people's answers from what they read."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer a request."""
        user = person(request)
        path = request.path.strip("/")
        if user is None or is_owner(user) or not path.startswith("api/"):
            return self._get_response(request)
        path = path.removeprefix("api/")
        why = refusal(request, path, user)
        if why:
            return JsonResponse({"detail": why, "status_code": 403}, status=403)
        return own_only(self._get_response(request), path, user)


def person(request: HttpRequest) -> Row:
    """Return the account behind a request; ``None`` if nobody is logged in."""
    if request.user.is_authenticated:
        return request.user
    scheme, _, key = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "token":
        return None
    token = apps.get_model("authtoken", "Token").objects.select_related("user").filter(key=key.strip()).first()
    return token.user if token else None


def is_owner(user: Row) -> bool:
    """Tell whether someone is the coordinator: the owner of the organization, or an administrator of the server."""
    organization = user.active_organization
    return bool(user.is_superuser or (organization and organization.created_by_id == user.pk))


def refusal(request: HttpRequest, path: str, user: Row) -> str:
    """Return why an annotator may not do this; empty if they may."""
    reads = request.method in READS
    writes = next((methods for where, methods in WRITES.items() if re.fullmatch(where, path)), "")
    if (reads and re.fullmatch(NOT_READ, path)) or (not reads and request.method not in writes.split()):
        return "Only the coordinator may do this."
    if path == "dm/actions" and not reads and request.GET.get("id") != "next_task":
        return "Only the coordinator may do this."
    place = next((found for where in PLACES if (found := re.fullmatch(where, path))), None)
    named = {name: int(number) for name, number in place.groupdict().items()} if place else {}
    for name, owner in (("annotation", "completed_by_id"), ("draft", "user_id")):
        number = named.get(name) or (int(found[1]) if (found := re.search(rf"/{name}s/(\d+)", path)) else None)
        one = number and _model(name).objects.filter(pk=number).first()
        if one and getattr(one, owner) != user.pk:
            return "This answer belongs to someone else."
        if one:
            named["task"] = one.task_id
    if named.get("user", user.pk) != user.pk:
        return "This account belongs to someone else."
    if not reads and author_named(request) not in (None, user.pk):
        return "You can only submit answers in your own name."
    elsewhere = other_project(project_of(request, named), user)
    return f"This project belongs to someone else. Yours is {elsewhere!r}." if elsewhere else ""


def author_named(request: HttpRequest) -> JSON:
    """Return the account that a request names as the author of an answer, or ``None``."""
    try:
        sent = json.loads(request.body or b"{}")
    except ValueError:
        sent = request.POST
    named = sent.get("completed_by") if hasattr(sent, "get") else None
    return int(named) if isinstance(named, str) and named.isdecimal() else named


def project_of(request: HttpRequest, named: dict[str, int]) -> Row:
    """Return the project that a request is about; ``None`` if there is none or it is unknown."""
    projects = apps.get_model("projects", "Project").objects
    if "task" in named:
        return projects.filter(tasks__pk=named["task"]).first()
    number = named.get("project") or request.GET.get("project", "")
    return projects.filter(pk=number).first() if str(number).isdecimal() else None


def other_project(project: Row, user: Row) -> str:
    """Return the project with the same tasks that someone has begun instead of this one; empty if none."""
    name = project and STATE.sub("", project.title)
    if not name or project.maximum_annotations != 1 or not OWN.fullmatch(name):
        return ""
    others = apps.get_model("projects", "Project").objects.filter(title__contains=name[:-1]).exclude(pk=project.pk)
    for other in others:
        if STATE.sub("", other.title)[:-1] == name[:-1] and has_begun(other, user):
            return STATE.sub("", str(other.title))
    return ""


def has_begun(project: Row, user: Row) -> bool:
    """Tell whether someone has answered in a project, or taken it as theirs."""
    answered = _model("annotation").objects.filter(project=project, completed_by=user).exists()
    members = apps.get_model("projects", "ProjectMember").objects
    return bool(answered or members.filter(project=project, user=user).exists())


def own_only(response: HttpResponse, path: str, user: Row) -> HttpResponse:
    """Remove from a response what is not this annotator's."""
    kind = response.get("Content-Type", "")
    if response.streaming or not kind.startswith("application/json") or response.status_code >= 300:  # noqa: PLR2004
        return response
    if re.fullmatch(WITH_ANSWERS, path):
        data = without_others(json.loads(response.content), user)
    elif path in {"users", "projects"}:
        data = json.loads(response.content)
        keep = (lambda one: one.get("id") == user.pk) if path == "users" else partial_view(user)
        if isinstance(data, list):
            data = [one for one in data if keep(one)]
        elif isinstance(data.get("results"), list):
            data["results"] = [one for one in data["results"] if keep(one)]
    else:
        return response
    response.content = json.dumps(data).encode()
    if "Content-Length" in response:
        response["Content-Length"] = str(len(response.content))
    return response


def partial_view(user: Row) -> Callable[[dict[str, Any]], bool]:
    """Return a test for whether an annotator sees a project in the list: not closed, and not someone else's."""

    def keep(listed: dict[str, Any]) -> bool:
        project = apps.get_model("projects", "Project").objects.filter(pk=listed.get("id")).first()
        return not str(listed.get("title", "")).startswith(CLOSED) and not other_project(project, user)

    return keep


def without_others(value: JSON, user: Row) -> JSON:
    """Return a response without the answers and names of other people."""
    if isinstance(value, list):
        return [without_others(one, user) for one in value if not _is_others(one, user)]
    if not isinstance(value, dict):
        return value
    found = {}
    for name, part in value.items():
        if name == "data":
            found[name] = part
        elif name in {"annotators", "comment_authors", "updated_by"} and isinstance(part, list):
            found[name] = [one for one in part if (one.get("user_id") if isinstance(one, dict) else one) == user.pk]
        elif name in {"annotations_results", "annotations_ids"}:
            found[name] = ""
        else:
            found[name] = without_others(part, user)
    return found


def _is_others(one: JSON, user: Row) -> bool:
    """Tell whether an item of a list is someone else's annotation or draft."""
    if not isinstance(one, dict) or "result" not in one:
        return False
    author = one.get("completed_by", one.get("user"))
    author = author.get("id") if isinstance(author, dict) else author
    return author not in {None, user.pk, user.email}


def _model(name: str) -> Row:
    return apps.get_model("tasks", "AnnotationDraft" if name == "draft" else "Annotation")
