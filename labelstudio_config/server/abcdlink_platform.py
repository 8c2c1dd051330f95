"""Participants from a platform such as Prolific: their ids there, and their completion codes.

The platform sends people to ``/abcdlink/join`` with three ids in the address. The ids stay in a cookie until
the participant has signed up or logged in, and are then noted with the account. Both files here are in the server's
data folder, next to its database; only the coordinator reads them.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from threading import RLock
from typing import Any
from urllib.parse import urlencode

from abcdlink_guard import OWN, STATE, Row, is_owner, person
from django.apps import apps
from django.conf import settings
from django.db.models import Count, F, Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse

HOME = "/abcdlink/"
"""The only address that annotators need: it leads to whatever they have to do."""
PARAMETERS = {"participant_id": "PROLIFIC_PID", "study_id": "STUDY_ID", "session_id": "SESSION_ID"}
ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
WAITING, DAY = "abcdlink_participant", 24 * 60 * 60
"""Signed cookie with the ids of someone who has not logged in yet, and so has no session: see ``Pages``."""
FINISH = "https://app.prolific.com/submissions/complete?cc="
ADDRESS = "{}@email.prolific.com"
"""The anonymous e-mail address that Prolific gives each participant."""
PARTICIPANTS, CODES = "participants.json", "codes.json"
LOCK = RLock()
"""Label Studio serves its requests in threads of one process."""

Participant = dict[str, Any]
"""``user``: id of the account; the three ids; ``at``: when they came."""


def answer(request: HttpRequest) -> HttpResponse | None:
    """Answer a request for what is here; ``None``: it is for another page."""
    match request.path.removeprefix(HOME):
        case "join":
            return join(request)
        case "participants" | "codes" as name:
            user = person(request)
            # A token, not the browser's session: no other site can send one.
            if user is None or not is_owner(user) or not request.headers.get("Authorization"):
                return JsonResponse({"detail": "Only the coordinator may do this."}, status=403)
            return JsonResponse(participants(), safe=False) if name == "participants" else keep_code(request)
    return None


def join(request: HttpRequest) -> HttpResponse:
    """Take the ids from the address, and lead to sign-up, log-in, or the tasks."""
    ids = {name: request.GET.get(parameter, "") for name, parameter in PARAMETERS.items()}
    if not all(map(ID.fullmatch, ids.values())):
        return told("This link is missing your IDs", "Open the study on Prolific and follow the link there.", 400)
    if request.user.is_authenticated and is_owner(request.user):
        return told("You are the coordinator", "To try the participants' link, open it in a private window.", 400)
    if request.user.is_authenticated:
        return note(request.user, ids) or HttpResponseRedirect(HOME)
    known = any(one["participant_id"] == ids["participant_id"] for one in participants())
    query = {"next": HOME} if known else {"next": HOME, "token": request.GET.get("token", "")}
    answer = HttpResponseRedirect(f"/user/{'login' if known else 'signup'}/?{urlencode(query)}")
    kept = ".".join(ids.values())
    answer.set_signed_cookie(WAITING, kept, max_age=DAY, httponly=True, samesite="Lax", secure=request.is_secure())
    return answer


def waiting(request: HttpRequest) -> dict[str, str]:
    """Return the ids with which somebody came; none if they did not come from the platform."""
    kept = request.get_signed_cookie(WAITING, default="", max_age=DAY)
    return dict(zip(PARAMETERS, kept.split("."), strict=True)) if kept else {}


def arrive(request: HttpRequest) -> HttpResponse | None:
    """Note the ids of someone who has just logged in; returns a response only if they cannot go on."""
    ids = waiting(request) if request.user.is_authenticated else {}
    return note(request.user, ids) if ids and not is_owner(request.user) else None


def note(user: Row, ids: dict[str, str]) -> HttpResponse | None:
    """Note the ids of an account; returns a response only if the participant cannot go on with it."""
    with LOCK:
        there = participants()
        if any(one["user"] == user.pk and one["participant_id"] != ids["participant_id"] for one in there):
            how = "Log out below, open the study on Prolific again, and use your own account."
            return told("This account belongs to another participant", how, 409)
        if any(one["user"] != user.pk and one["participant_id"] == ids["participant_id"] for one in there):
            how = "Log out below, then log in with the account that you created when you first came from Prolific."
            return told("You already have another account", how, 409)
        if not any(one["user"] == user.pk and ids.items() <= one.items() for one in there):
            now = datetime.now(UTC).isoformat(timespec="seconds")
            write(PARTICIPANTS, [*stored(PARTICIPANTS, []), {"user": user.pk, **ids, "at": now}])
    return None


def address_for(request: HttpRequest) -> str:
    """Return the e-mail address that a participant may sign up with; empty if unknown."""
    ids = waiting(request) if request.path in {"/user/signup/", "/user/login/"} else {}
    return ADDRESS.format(ids["participant_id"]) if ids else ""


def participants() -> list[Participant]:
    """Return who came from the platform, oldest first, with their accounts; nothing is kept of deleted accounts."""
    with LOCK:
        kept = stored(PARTICIPANTS, [])
        users = apps.get_model("users", "User").objects.filter(pk__in=[one["user"] for one in kept])
        accounts = dict(users.values_list("pk", "email"))
        left = [one for one in kept if one["user"] in accounts]
        if len(left) < len(kept):
            write(PARTICIPANTS, left)
    return [{**one, "account": accounts[one["user"]]} for one in left]


def keep_code(request: HttpRequest) -> HttpResponse:
    """Set or remove the code of a project: ``{"title": ..., "code": ...}``, the title without its prefix."""
    try:
        sent = json.loads(request.body)
        title, code = str(sent["title"]), str(sent["code"])
    except (ValueError, TypeError, KeyError):
        return JsonResponse({"detail": "Send a title and a code."}, status=400)
    if code and not ID.fullmatch(code):
        return JsonResponse({"detail": "A code has up to 64 characters: letters, digits, - and _."}, status=400)
    with LOCK:
        codes = {**stored(CODES, {}), title: code}
        write(CODES, {name: one for name, one in codes.items() if one})
    return JsonResponse({"title": title, "code": code})


def codes_of(user: Row) -> Iterator[tuple[str, str]]:
    """Yield title and code of each project that someone has finished."""
    for title, code in stored(CODES, {}).items():
        found = apps.get_model("projects", "Project").objects.filter(title__contains=title)
        counts = [done_and_left(project, user) for project in found if title_of(project) == title]
        if any(done and not left for done, left in counts):
            yield title, code


def title_of(project: Row) -> str:
    """Return a project's title as codes name it: without its prefix and the letter of one annotator."""
    name: str = STATE.sub("", project.title)
    return name[: -len(" · A")] if project.maximum_annotations == 1 and OWN.fullmatch(name) else name


def done_and_left(project: Row, user: Row) -> tuple[int, int]:
    """Return how many tasks of a project someone has done, and how many are left for them."""
    tasks = project.tasks.annotate(
        mine=Count("annotations", filter=Q(annotations__completed_by=user)), all=Count("annotations")
    )
    left = tasks.filter(mine=0, all__lt=F("project__maximum_annotations")).count()
    return tasks.filter(mine__gt=0).count(), left


def codes_html(user: Row) -> str:
    """Return the codes that someone has earned."""
    return "".join(
        f'<p class="code"><b>{escape(title)}: done.</b> Your completion code: <code>{escape(code)}</code><br>'
        f'<a href="{FINISH}{escape(code)}">Finish on Prolific</a></p>'
        for title, code in codes_of(user)
    )


def told(headline: str, text: str, status: int) -> HttpResponse:
    """Return a page that says why someone cannot go on."""
    page = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(headline)}</title></head>'
        '<body style="font:16px/1.5 system-ui,sans-serif;max-width:720px;margin:40px auto;padding:0 16px">'
        f'<h1>{escape(headline)}</h1><p>{escape(text)}</p><p><a href="/logout">Log out</a></p></body></html>'
    )
    return HttpResponse(page, status=status, headers={"Cache-Control": "no-store"})


def stored(name: str, empty: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return the content of a file here."""
    try:
        return json.loads(place(name).read_bytes())
    except FileNotFoundError:
        return empty


def write(name: str, value: object) -> None:
    """Replace a file here as a whole; only the server's own account may read it."""
    path = place(name)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    half = path.with_suffix(".tmp")
    half.unlink(missing_ok=True)
    with os.fdopen(os.open(half, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())
    half.replace(path)


def place(name: str) -> Path:
    """Return the path of a file: next to Label Studio's database, not among the media that it serves."""
    return Path(settings.BASE_DATA_DIR) / "abcdlink" / name
