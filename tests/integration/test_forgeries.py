"""Answers altered or forged by other accounts do not count and are reported; with Label Studio's own API.

The server is an unmodified Label Studio. The one that abcdlink starts refuses all of this (``test_own_work.py``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

import httpx
import pytest

from abcdlink.corpus.io import write_corpus_to
from abcdlink.errors import ServiceError
from abcdlink.judgments import Judgment, Label
from abcdlink.layout import ANOMALIES, JUDGMENTS, NATURAL, POOLS, batch_file
from abcdlink.settings import get_settings
from abcdlink.store import Store, open_run
from labelstudio_config.client import Client
from labelstudio_config.pages.annotate import LinkingPage
from labelstudio_config.progress import ProjectProgress, progress_in
from labelstudio_config.projects import look_now
from labelstudio_config.run import read_pushed
from tasks.projects import pull, push
from tests.helpers.annotation import account_id, annotator, make_run, submit
from tests.helpers.homes import configure
from tests.helpers.label_studio_server import LabelStudioServer, label_studio_server

SLUG = "batch-1"
LINK, NO = Label.LINK, Label.NO_LINK


class Batch(NamedTuple):
    """A batch of two tasks for two annotators, in a real Label Studio; ``tasks``: key -> id."""

    store: Store
    client: Client
    project: int
    tasks: dict[str, int]
    ada: httpx.Client
    bo: httpx.Client
    eve: httpx.Client

    def look(self) -> ProjectProgress:
        pushed, snapshot = look_now(self.store, SLUG)
        return progress_in(snapshot, pushed.task_keys, pushed.overlap)

    def labels(self) -> dict[tuple[str, str], list[Label]]:
        """Pull; (annotator, key) -> labels in the order of the candidates."""
        pull.fn(self.store.key, LinkingPage(batch=1, overlap=2, shared=True))
        keys = {pool["source"]: pool["key"] for pool in map(json.loads, self.store.read_text(POOLS).splitlines())}
        found: dict[tuple[str, str], list[Label]] = {}
        judgments = self.store.read_records(batch_file(1, JUDGMENTS), Judgment)
        for one in sorted(judgments, key=lambda one: one.target):
            found.setdefault((one.annotator, keys[one.source]), []).append(one.label)
        return found

    def anomalies(self) -> str:
        return "\n".join(self.store.read_json(batch_file(1, ANOMALIES)))


def rewritten(answer: httpx.Response, *labels: Label) -> dict[str, Any]:
    """Return the body that changes an answer to these labels."""
    result = answer.raise_for_status().json()["result"]
    for part, label in zip(result, labels, strict=True):
        part["value"] = {"choices": [label]}
    return {"result": result}


@pytest.fixture(scope="module")
def label_studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabelStudioServer]:
    with label_studio_server(tmp_path_factory.mktemp("label-studio"), extended=False) as server:
        yield server


@pytest.fixture
def batch(
    client: Client, label_studio: LabelStudioServer, isolated_home: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Batch]:
    configure(monkeypatch, label_studio_url=label_studio.url, label_studio_token=label_studio.token)
    run = make_run(tasks=2)
    store = open_run(run.key)
    write_corpus_to(store, NATURAL, run.corpus)
    store.write_records(POOLS, run.pools)
    push.fn(run.key, "news", LinkingPage(batch=1, overlap=2, shared=True))
    project = read_pushed(store, SLUG).project_id
    tasks = {task["data"]["task_key"]: task["id"] for task in client.tasks(project)}
    with ExitStack() as stack:
        people = [stack.enter_context(annotator(client, name)) for name in ("ada", "bo", "eve")]
        yield Batch(store, client, project, tasks, *people)
    get_settings.cache_clear()


def test_an_unextended_label_studio_knows_no_participants_and_shows_no_code(client: Client) -> None:
    assert client.participants() == []
    with pytest.raises(ServiceError, match="cannot show completion codes"):
        client.set_code("a batch", "C1A2B3")


def test_an_answer_changed_by_someone_else_counts_as_its_author_gave_it(batch: Batch) -> None:
    (first, second), tasks = batch.tasks, batch.tasks
    given = submit(batch.ada, tasks[first], [LINK] * 3)
    batch.look()
    body = rewritten(given, NO, NO, NO)
    batch.eve.patch(f"/api/annotations/{given.json()['id']}", json=body).raise_for_status()
    for session, task in ((batch.bo, first), (batch.ada, second), (batch.bo, second)):
        submit(session, tasks[task], [NO] * 3).raise_for_status()
    assert batch.look().complete
    assert batch.labels()["annotator-1", first] == [LINK] * 3
    assert "annotator-1" in batch.anomalies()
    assert "the author's own answer counts" in batch.anomalies()
    # Its author may change it, of course.
    batch.ada.patch(f"/api/annotations/{given.json()['id']}", json=rewritten(given, LINK, NO, NO)).raise_for_status()
    _, snapshot = look_now(batch.store, SLUG)
    assert snapshot.set_aside == ()


def test_an_answer_taken_over_by_someone_else_stays_its_authors(batch: Batch) -> None:
    (first, _), tasks = batch.tasks, batch.tasks
    given = submit(batch.ada, tasks[first], [LINK] * 3)
    batch.look()
    body = rewritten(given, NO, NO, NO) | {"completed_by": account_id(batch.eve)}
    batch.eve.patch(f"/api/annotations/{given.json()['id']}", json=body).raise_for_status()
    _, snapshot = look_now(batch.store, SLUG)
    assert set(snapshot.answers) == {(first, account_id(batch.ada))}
    (answer,) = snapshot.answers[first, account_id(batch.ada)]
    assert answer.given.choices["link_0"] == [LINK]


def test_an_answer_in_someone_elses_name_does_not_count(batch: Batch) -> None:
    (first, second), tasks = batch.tasks, batch.tasks
    given = submit(batch.bo, tasks[first], [LINK] * 3)
    forged = {"result": given.json()["result"], "completed_by": account_id(batch.ada)}
    batch.eve.post(f"/api/tasks/{tasks[first]}/annotations", json=forged).raise_for_status()
    for session in (batch.ada, batch.bo):
        submit(session, tasks[second], [LINK] * 3).raise_for_status()
    assert batch.look().done == 1
    submit(batch.ada, tasks[first], [NO] * 3).raise_for_status()
    assert batch.look().complete
    assert sorted(batch.labels().values()) == [[LINK] * 3] * 3 + [[NO] * 3]
    assert "it does not count" in batch.anomalies()


def test_imported_copies_with_answers_do_not_make_a_task_done(batch: Batch) -> None:
    (first, second), tasks = batch.tasks, batch.tasks
    given = submit(batch.ada, tasks[second], [LINK] * 3).json()
    submit(batch.bo, tasks[second], [LINK] * 3).raise_for_status()
    (task,) = (task for task in batch.client.tasks(batch.project) if task["id"] == tasks[first])
    answers = [{"result": given["result"], "completed_by": account_id(one)} for one in (batch.ada, batch.bo)]
    copy = [{"data": task["data"], "annotations": answers}]
    batch.eve.post(f"/api/projects/{batch.project}/import", json=copy).raise_for_status()
    assert batch.look().done == 1
    for session in (batch.ada, batch.bo):
        submit(session, tasks[first], [NO] * 3).raise_for_status()
    assert batch.look().complete
    labels = batch.labels()
    assert labels["annotator-1", first] == labels["annotator-2", first] == [NO] * 3
    assert f"the task {first} is in Label Studio 2 times" in batch.anomalies()
    assert "was imported, not submitted" in batch.anomalies()


def test_edited_candidates_do_not_change_an_answer(batch: Batch) -> None:
    (first, second), tasks = batch.tasks, batch.tasks
    (task,) = (task for task in batch.client.tasks(batch.project) if task["id"] == tasks[first])
    one, other = task["data"]["candidates"][:2]
    one["id"], other["id"] = other["id"], one["id"]
    batch.eve.patch(f"/api/tasks/{tasks[first]}/", json={"data": task["data"]}).raise_for_status()
    for session in (batch.ada, batch.bo):
        submit(session, tasks[first], [LINK, NO, NO]).raise_for_status()
        submit(session, tasks[second], [NO] * 3).raise_for_status()
    assert batch.look().complete
    assert batch.labels()["annotator-1", first] == [LINK, NO, NO]
    assert f"the task {first} was changed after it was pushed: someone edited candidates" in batch.anomalies()


def test_a_renamed_project_is_the_same_project(batch: Batch) -> None:
    tasks = batch.tasks
    for task in tasks.values():
        submit(batch.ada, task, [LINK] * 3).raise_for_status()
    head = {"Authorization": f"Token {get_settings().label_studio_token.get_secret_value()}"}
    address = f"{batch.client.url}/api/projects/{batch.project}/"
    httpx.patch(address, headers=head, json={"title": "Our bridge"}).raise_for_status()
    assert (batch.look().done, len(batch.client.tasks(batch.project))) == (0, 2)
    for task in tasks.values():
        submit(batch.bo, task, [LINK] * 3).raise_for_status()
    assert batch.look().complete
    assert len(batch.labels()) == 4
    assert batch.anomalies() == ""


def test_unreadable_answers_block_nothing(batch: Batch) -> None:
    (first, second), tasks = batch.tasks, batch.tasks
    comment = {"from_name": "comment", "to_name": "src", "type": "textarea"}
    parts = [
        {"value": None},
        {"from_name": "link_0", "value": {"choices": None}},
        {**comment, "value": {"text": [5]}},
        {**comment, "value": {"text": ["a \ud800 lone surrogate"]}},
    ]
    for part in parts:
        # The server stores the last one, and fails to send it back.
        batch.eve.post(
            f"/api/tasks/{tasks[first]}/annotations",
            content=json.dumps({"result": [part]}),
            headers={"content-type": "application/json"},
        )
    for task in (first, second):
        submit(batch.ada, tasks[task], [LINK] * 3).raise_for_status()
    assert not batch.look().complete
    for task in (first, second):
        submit(batch.bo, tasks[task], [LINK] * 3).raise_for_status()
    assert batch.look().complete
    assert len(batch.labels()) == 4
    said = batch.anomalies()
    assert said.count("does not count") == len(parts)
    assert "cannot send it" in said
