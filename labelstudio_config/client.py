"""A connection to a Label Studio server; every failure becomes a ``ServiceError`` with a hint."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import httpx
from label_studio_sdk.core.api_error import ApiError

from abcdlink.errors import ServiceError
from abcdlink.settings import get_settings
from labelstudio_config.exports import all_tasks

TIMEOUT = 300.0
"""Timeout for one call, in seconds: the export of 2,000 tasks with two annotations takes 15 s on two cores."""

UNAUTHORIZED = (401, 403)
NOT_FOUND = 404

HOME = "/abcdlink/"
"""Path on our own server that leads annotators to their tasks (``server/abcdlink_pages.py``)."""

TO_DO, CLOSED = "To do · ", "Closed · "
"""Prefix of a project's title in Label Studio, which shows annotators what they have to do. It is not part of
the title by which we know a project."""


def without_state(title: str) -> str:
    """Return a project's title as we know it, without its prefix in Label Studio."""
    return title.removeprefix(TO_DO).removeprefix(CLOSED)


class Client:
    """The part of Label Studio's API that abcdlink needs. Created by ``connect``.

    ``token``: legacy token or personal access token of an account that may create projects.
    """

    def __init__(self, url: str, token: str) -> None:
        from label_studio_sdk import LabelStudio

        self.url = url.rstrip("/")
        with self._errors("connect"):
            self._sdk = LabelStudio(base_url=self.url, api_key=token, timeout=TIMEOUT)

    @contextmanager
    def _errors(self, doing: str, *, gone_is_fine: bool = False) -> Iterator[None]:
        """Turn the errors of the SDK into ``ServiceError``; never shows headers, which hold a session cookie."""
        try:
            yield
        except ApiError as error:
            if gone_is_fine and error.status_code == NOT_FOUND:
                return  # someone else deleted it first
            raise _refusal(self.url, doing, error.status_code, error.body) from None
        except httpx.HTTPError as error:
            msg = f"Label Studio at {self.url} does not answer ({doing}: {error or type(error).__name__})"
            raise ServiceError(
                msg, "start it with `abcdlink up`, or set ABCDLINK_LABEL_STUDIO_URL to where it is"
            ) from None
        except json.JSONDecodeError:
            msg = f"what answers at {self.url} is not Label Studio ({doing}: the reply is not JSON)"
            raise ServiceError(msg, "check ABCDLINK_LABEL_STUDIO_URL, and any proxy in between") from None

    def account(self) -> str:
        """Return the e-mail address of the account that the token belongs to."""
        with self._errors("check whose token this is"):
            return str(self._sdk.users.whoami().email)

    def projects_titled(self, title: str) -> dict[int, int]:
        """Return the projects with this title, whatever its prefix: id -> number of tasks, lowest id first."""
        with self._errors("list the projects"):
            there = self._sdk.projects.list(title=title)
            found = {p.id: p.task_number or 0 for p in there if without_state(p.title or "") == title}
        return dict(sorted(found.items()))

    def project(self, project: int) -> tuple[str, str] | None:
        """Return a project's title and creation time; ``None``: there is no project with this id."""
        with self._errors(f"look for the project {project}"):
            try:
                found = self._sdk.projects.get(id=project)
            except ApiError as error:
                if error.status_code != NOT_FOUND:
                    raise
                return None
        return without_state(str(found.title)), str(found.created_at)

    def create_project(self, **settings: Any) -> int:  # noqa: ANN401 - the fields of a project
        """Create a project and return its id."""
        with self._errors(f"create the project {settings.get('title')!r}"):
            return int(self._sdk.projects.create(**settings).id)

    def change_project(self, project: int, **settings: str) -> None:
        """Change settings of a project: its title and colour, or the instructions (HTML) that annotators see first."""
        with self._errors(f"change {' and '.join(settings)} of the project {project}"):
            self._sdk.projects.update(id=project, **settings)

    def delete_project(self, project: int) -> None:
        """Delete a project with all that is in it; one that is already gone is not an error."""
        with self._errors(f"delete the project {project}", gone_is_fine=True):
            self._sdk.projects.delete(id=project)

    def create_tab(self, project: int, data: dict[str, Any]) -> int:
        """Create a tab of the project's Data Manager and return its id."""
        with self._errors(f"create a tab in the project {project}"):
            return int(self._sdk.views.create(project=project, data=data).id)

    def tabs(self, project: int) -> list[dict[str, Any]]:
        """Return the tabs of the project's Data Manager: ``id`` and ``data``."""
        with self._errors(f"list the tabs of the project {project}"):
            found = self._sdk.views.list(project=project)
            return [json.loads(tab.model_dump_json()) for tab in found]

    def counts(self, project: int) -> tuple[int, ...]:
        """Return how many tasks, answers and skipped answers a project has; Label Studio counts them on each call.

        A cheap sign that something is new, but not of a changed answer, or of two changes that cancel each other out.
        """
        with self._errors(f"count the tasks and answers of the project {project}"):
            found = self._sdk.projects.get(id=project)
        counts = found.task_number, found.total_annotations_number, found.skipped_annotations_number
        return tuple(count or 0 for count in counts)

    def import_tasks(self, project: int, tasks: Sequence[dict[str, Any]]) -> None:
        """Add tasks. A repeated call adds them again: the caller has to check what is there."""
        with self._errors(f"import tasks into the project {project}"):
            content = json.dumps(list(tasks)).encode()
            headers = {"content-type": "application/json"}
            self._request("POST", f"api/projects/{project}/import", content=content, headers=headers)

    def tasks(self, project: int) -> list[dict[str, Any]]:
        """Return all tasks of a project with their annotations, as ``exports.all_tasks`` does."""
        with self._errors(f"export the project {project}"):
            return all_tasks(self._request, project)

    def _request(self, method: str, address: str, **details: Any) -> Any:  # noqa: ANN401 - any JSON value
        """Return the JSON of a reply. The SDK's own calls would walk through every value in Python."""
        reply = self._sdk._client_wrapper.httpx_client.request(address, method=method, **details)  # noqa: SLF001
        if not reply.is_success:
            is_json = reply.headers.get("content-type", "").startswith("application/json")
            raise ApiError(status_code=reply.status_code, body=reply.json() if is_json else reply.text)
        return reply.json()

    def delete_task(self, task: int) -> None:
        """Delete a task; one that is already gone is not an error."""
        with self._errors(f"delete the task {task}", gone_is_fine=True):
            self._sdk.tasks.delete(id=str(task))

    def delete_annotation(self, annotation: int) -> None:
        """Delete an annotation; one that is already gone is not an error."""
        with self._errors(f"delete the annotation {annotation}", gone_is_fine=True):
            self._sdk.annotations.delete(id=annotation)

    def accounts(self) -> dict[int, str]:
        """Return the accounts of the server: id -> e-mail address."""
        with self._errors("list the accounts"):
            return {user.id: user.email for user in self._sdk.users.list()}

    def home(self) -> str:
        """Return the address that leads annotators to their own tasks; empty if the server is not one of ours."""
        try:
            there = httpx.get(f"{self.url}{HOME}keys.js", timeout=TIMEOUT).is_success
        except httpx.HTTPError:
            there = False
        return f"{self.url}{HOME}" if there else ""

    def participants(self) -> list[dict[str, str]]:
        """Return who came from a platform, with account and ids, oldest first; empty if the server is not ours."""
        with self._errors("list the participants of a platform"):
            try:
                found: list[dict[str, str]] = self._request("GET", f"{HOME}participants".lstrip("/"))
            except (ApiError, ValueError) as error:  # a page instead of JSON: another server
                if isinstance(error, ApiError) and error.status_code != NOT_FOUND:
                    raise
                return []
        return found

    def set_code(self, title: str, code: str) -> None:
        """Let our own server show a completion code to those who have finished the projects with this title.

        Raises:
            ServiceError: when the server is not one that abcdlink started, or refuses the code.
        """
        if not self.home():
            msg = f"Label Studio at {self.url} cannot show completion codes"
            raise ServiceError(
                msg, "use the Label Studio that `abcdlink up` starts, or give the code to participants on the platform"
            )
        with self._errors("set the completion code"):
            self._request("POST", f"{HOME}codes".lstrip("/"), json={"title": title, "code": code})

    def study_link(self) -> str:
        """Return the address of a study on Prolific, which fills in the ids of each participant."""
        token = self.invitation().partition("token=")[2]
        ids = "&".join(f"{name}={{{{%{name}%}}}}" for name in ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID"))
        return public(f"{self.url}{HOME}join?token={token}&{ids}")

    def invitation(self) -> str:
        """Return the address where a person creates an annotator account."""
        with self._errors("get the invitation link"):
            path = self._sdk.organizations.invites.get_invite_link().invite_url
        return public(path if path.startswith("http") else f"{self.url}{path}")


def public(url: str) -> str:
    """Return an address of our Label Studio as annotators reach it: with ``ABCDLINK_PUBLIC_URL``, if that is set."""
    settings = get_settings()
    base = settings.label_studio_url.rstrip("/")
    return f"{settings.public_url}{url.removeprefix(base)}" if settings.public_url and url.startswith(base) else url


def _refusal(url: str, doing: str, status: int | None, body: Any) -> ServiceError:  # noqa: ANN401 - any JSON value
    said = body.get("validation_errors") or body.get("detail") if isinstance(body, dict) else None
    detail = str(said or str(body)[:200]).rstrip(".")
    if status in UNAUTHORIZED:
        msg = f"Label Studio at {url} refuses the token ({doing}: {detail})"
        return ServiceError(msg, "set ABCDLINK_LABEL_STUDIO_TOKEN to the token on its page Account & Settings")
    msg = f"Label Studio at {url} failed (HTTP {status}, {doing}: {detail})"
    return ServiceError(msg, "check its log, fix what it reports and run this again; nothing is pushed twice")


def connect(url: str, token: str) -> Client:
    """Connect and check that the server answers and accepts the token.

    Raises:
        ServiceError: when the server does not answer, or the token is missing or wrong.
    """
    if not token:
        msg = f"there is no token for Label Studio at {url}"
        raise ServiceError(msg, "start it with `abcdlink up`, or set ABCDLINK_LABEL_STUDIO_TOKEN")
    client = Client(url, token)
    client.account()
    return client


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector.

    While some 10,000 records are read, it walks over all of them again and again, though JSON and records
    have no cycles: half of the time that reading takes. Whatever is not in a cycle is freed all the same.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
