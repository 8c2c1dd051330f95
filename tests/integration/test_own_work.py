"""An annotator's account in the Label Studio that abcdlink starts: it can do its own work and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import NamedTuple

import httpx
import pytest

from abcdlink.judgments import Label
from labelstudio_config.accounts import log_in, with_own_token
from labelstudio_config.batches import reassign
from labelstudio_config.client import Client
from tests.helpers.annotation import account_id, annotator, submit
from tests.helpers.label_studio_server import LabelStudioServer
from tests.helpers.own_batch import OwnBatch, own_batch

LINK, NO = [Label.LINK] * 3, [Label.NO_LINK] * 3


class Scene(NamedTuple):
    """Ada has answered the first task of one project; Bo has started on the other."""

    batch: OwnBatch
    client: Client
    ada: httpx.Client
    bo: httpx.Client
    given: int
    adas: int
    bos: int
    task: int

    def answer(self) -> object:
        """Return what Ada's answer says now."""
        (found,) = (one for task in self.client.tasks(self.adas) for one in task["annotations"])
        return found["result"], found["completed_by"], found["updated_by"]


@pytest.fixture
def scene(client: Client, label_studio: LabelStudioServer, isolated_home: object) -> Iterator[Scene]:
    with own_batch(label_studio, 2) as batch, annotator(client, "ada") as ada, annotator(client, "bo") as bo:
        adas, bos = (one.project_id for one in batch.pushed.projects)
        first, second = (min(task["id"] for task in client.tasks(at)) for at in (adas, bos))
        given = submit(ada, first, LINK).raise_for_status().json()["id"]
        submit(bo, second, NO).raise_for_status()
        yield Scene(batch, client, ada, bo, given, adas, bos, first)


@contextmanager
def by(session: httpx.Client, way: str) -> Iterator[httpx.Client]:
    """The same account in its browser, or with its own token."""
    if way == "browser":
        yield session
        return
    with closing(with_own_token(session)) as connection:
        yield connection


@pytest.mark.parametrize("way", ["browser", "token"])
def test_nobody_can_overwrite_someone_elses_answer(scene: Scene, way: str) -> None:
    before, ada = scene.answer(), account_id(scene.ada)
    body = {"result": [], "lead_time": 1}
    with by(scene.bo, way) as bo:
        tried = {
            "update": bo.patch(f"/api/annotations/{scene.given}", json=body),
            "update with a slash": bo.patch(f"/api/annotations/{scene.given}/", json=body),
            "put": bo.put(f"/api/annotations/{scene.given}/", json=body),
            "take over": bo.patch(f"/api/annotations/{scene.given}/", json={"completed_by": account_id(bo)}),
            "delete": bo.delete(f"/api/annotations/{scene.given}/"),
            "to a draft": bo.post(f"/api/annotations/{scene.given}/convert-to-draft", json={}),
            "draft": bo.post(f"/api/tasks/{scene.task}/annotations/{scene.given}/drafts", json=body),
            "in her name": bo.post(f"/api/tasks/{scene.task}/annotations/", json={**body, "completed_by": ada}),
            "form": bo.post(f"/api/tasks/{scene.task}/annotations/", data={"completed_by": str(ada)}),
            "in her project": bo.post(f"/api/tasks/{scene.task}/annotations/", json=body),
            "next of the other project": bo.post(f"/api/dm/actions?id=next_task&project={scene.adas}", json={}),
            "task": bo.patch(f"/api/tasks/{scene.task}/", json={"data": {}}),
            "delete task": bo.delete(f"/api/tasks/{scene.task}/"),
            "import": bo.post(f"/api/projects/{scene.adas}/import", json=[{"data": {}}]),
            "delete answers": bo.post(f"/api/dm/actions?id=delete_tasks_annotations&project={scene.adas}", json={}),
        }
    assert {name: one.status_code for name, one in tried.items() if one.status_code not in {403, 405}} == {}
    assert scene.answer() == before
    # They may change their own answers.
    assert scene.ada.patch(f"/api/annotations/{scene.given}/", json={"lead_time": 9}).is_success
    assert scene.batch.look()[1] == []


@pytest.mark.parametrize("way", ["browser", "token"])
def test_nobody_can_read_someone_elses_answer(scene: Scene, way: str) -> None:
    with by(scene.bo, way) as bo:
        refused = [
            bo.get(f"/api/annotations/{scene.given}/"),
            bo.get(f"/api/tasks/{scene.task}/"),
            bo.get(f"/api/projects/{scene.adas}/export?exportType=JSON&download_all_tasks=true"),
            bo.get(f"/api/projects/{scene.bos}/export?exportType=JSON&download_all_tasks=true"),
            bo.get(f"/api/tasks?project={scene.adas}&fields=all"),
        ]
        assert [one.status_code for one in refused] == [403] * len(refused)
        own = bo.get(f"/api/tasks?project={scene.bos}&fields=all").raise_for_status().json()
        listed = bo.get("/api/projects?page_size=100").raise_for_status().json()["results"]
    assert [one["completed_by"] for task in own["tasks"] for one in task["annotations"]] == [account_id(scene.bo)]
    assert scene.bos in {one["id"] for one in listed}
    assert scene.adas not in {one["id"] for one in listed}


def test_everything_else_an_account_could_do_in_label_studio_is_refused(scene: Scene) -> None:
    bo = scene.bo
    organization = bo.get("/api/current-user/whoami").json()["active_organization"]
    tried = {
        "delete project": bo.delete(f"/api/projects/{scene.adas}/"),
        "rename project": bo.patch(f"/api/projects/{scene.bos}/", json={"title": "mine"}),
        "make project": bo.post("/api/projects/", json={"title": "mine"}),
        "members": bo.get(f"/api/organizations/{organization}/memberships"),
        "new invitation": bo.post("/api/invite/reset-token"),
        "invitation": bo.get("/api/invite"),
        "webhooks": bo.get("/api/webhooks/"),
        "make webhook": bo.post("/api/webhooks/", json={"url": "http://127.0.0.1:1"}),
        "another's account": bo.patch(f"/api/users/{account_id(scene.ada)}/", json={"first_name": "Eve"}),
        "make account": bo.post("/api/users/", json={"email": "eve@example.org"}),
        "tab": bo.post("/api/dm/views/", json={"project": scene.bos, "data": {}}),
        "reset tabs": bo.delete(f"/api/dm/views/reset/?project={scene.bos}"),
    }
    assert {name: one.status_code for name, one in tried.items() if one.status_code != 403} == {}
    assert [one["id"] for one in bo.get("/api/users/").json()] == [account_id(bo)]
    assert json.loads(tried["delete project"].text)["detail"] == "Only the coordinator may do this."


def test_a_replacement_is_let_in_but_nobody_twice(scene: Scene) -> None:
    account = scene.ada.get("/api/current-user/whoami").json()["email"]
    (told,) = (line for line in reassign(scene.batch.store, 1, account) if "give this link" in line)
    link = told.split(": ", 1)[1]
    with annotator(scene.client, "cy") as cy:
        assert cy.get(link).is_success
        assert link.startswith(f"{scene.client.url}/projects/{scene.adas}/")
        task = max(one["id"] for one in scene.client.tasks(scene.adas))
        assert submit(cy, task, NO).is_success
        refused = submit(cy, max(one["id"] for one in scene.client.tasks(scene.bos)), NO)
    assert (refused.status_code, "belongs to someone else" in refused.text) == (403, True)
    now, said = scene.batch.look()
    assert (now.done, said) == (1, [])


def test_a_look_into_somebodys_own_project_holds_no_task_back(scene: Scene, label_studio: LabelStudioServer) -> None:
    ask = f"/api/dm/actions?id=next_task&project={scene.adas}"
    with closing(log_in(label_studio.url, label_studio.email, label_studio.password)) as coordinator:
        looked_at, offered = (one.post(ask, json={"ordering": ["tasks:id"]}).json() for one in (coordinator, scene.ada))
    assert isinstance(offered["id"], int)
    assert offered["id"] == looked_at["id"]


def test_an_annotators_front_page_shows_their_tasks(scene: Scene) -> None:
    page = scene.ada.get("/", follow_redirects=True)
    assert page.url.path == "/abcdlink/"
    assert "1 of 2 tasks done" in page.text
