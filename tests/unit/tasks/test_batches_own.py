"""A batch in which each annotator has their own project: one answer per task in each, and nobody in two."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from abcdlink.store import Store
from labelstudio_config.batches import requeue, status
from labelstudio_config.client import CLOSED, TO_DO
from labelstudio_config.pages.annotate import LinkingPage
from labelstudio_config.run import PushedProject, known_so_far, read_pushed
from tasks.projects import pull, push
from tests.helpers.batch_steps import RUN, SLUG, look, pulled
from tests.helpers.fake_label_studio import ADA, BEN, CY, FakeLabelStudio, pushed_run

PAGE = LinkingPage(batch=1, overlap=2)


@pytest.fixture
def store(isolated_home: Path, server: FakeLabelStudio) -> Store:
    return pushed_run(RUN, 4, shared=False)


def projects(store: Store) -> list[int]:
    return [one.project_id for one in read_pushed(store, SLUG).projects]


def test_each_annotator_has_all_tasks_once_and_their_own_link(store: Store, server: FakeLabelStudio, keys) -> None:
    pushed = read_pushed(store, SLUG)
    assert [server.projects[at]["title"] for at in projects(store)] == [
        f"{TO_DO}{RUN} · batch 1 · A",
        f"{TO_DO}{RUN} · batch 1 · B",
    ]
    for one in pushed.projects:
        assert server.projects[one.project_id]["maximum_annotations"] == 1
        assert [task["data"]["task_key"] for task in server.held[one.project_id]] == list(keys)
        assert one.url in pushed.url
    push.fn(RUN, "news", PAGE)
    assert len(server.all_tasks()) == 2 * len(keys)


def test_the_batch_is_done_when_both_are_and_its_titles_say_so(store: Store, server: FakeLabelStudio, keys) -> None:
    first, second = projects(store)
    for key in keys:
        server.answer(key, ADA, project=first)
    assert (look(store)[0].done, status(store, 1).people[0].open) == (0, 0)
    for key in keys:
        server.answer(key, BEN, "No Link", project=second)
    now, said = look(store)
    assert (now.complete, said) == (True, [])
    pull.fn(RUN, PAGE)
    assert {one.annotator for one in pulled(store)} == {"annotator-1", "annotator-2"}
    assert {server.projects[at]["title"].split(" · ")[0] for at in projects(store)} == {CLOSED.split(" · ")[0]}


def test_one_person_in_both_projects_counts_once(store: Store, server: FakeLabelStudio, keys) -> None:
    for at in projects(store):
        server.answer(keys[0], ADA, project=at)
    now, said = look(store)
    assert (now.done, len(said)) == (0, 1)
    assert said[0].endswith(f"answered the task {keys[0]} 2 times; the newest counts")
    assert requeue(store, 1)[0].endswith("in two projects: someone else will be offered it")
    server.answer(keys[0], BEN, project=projects(store)[0])
    assert look(store)[0].done == 1


def test_a_deleted_project_comes_back_with_its_open_tasks(store: Store, server: FakeLabelStudio, keys) -> None:
    first, second = projects(store)
    server.answer(keys[0], ADA, project=first)
    server.answer(keys[1], BEN, project=second)
    look(store)
    server.delete_project(first)
    assert look(store)[0].done == 0
    again, same = projects(store)
    assert (same, again != first) == (second, True)
    assert [task["data"]["task_key"] for task in server.held[again]] == list(keys[1:])
    for key in keys[1:]:
        server.answer(key, CY, project=again)
    for key in (keys[0], *keys[2:]):
        server.answer(key, BEN, project=second)
    assert look(store)[0].complete
    pull.fn(RUN, PAGE)
    assert {one.annotator for one in pulled(store)} == {f"annotator-{n}" for n in (1, 2, 3)}


def test_a_record_of_a_single_project_can_still_be_read(store: Store, server: FakeLabelStudio, keys) -> None:
    old = {"slug": SLUG, "title": "t", "project_id": 4, "url": "u", "overlap": 2, "task_keys": ["k"], "made": "m"}
    read = PushedProject.model_validate(old)
    assert (read.project_id, read.url, len(read.projects)) == (4, "u", 1)
    look(store)
    name = f"label-studio/{SLUG}/snapshot.json"
    kept = json.loads(store.read_text(name))
    kept |= {"project": kept.pop("there")[0], "there": True}
    store.write_text(name, json.dumps(kept))
    assert known_so_far(store, read_pushed(store, SLUG)).history.there == (kept["project"],)
