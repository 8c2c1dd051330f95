"""Batches under annotation: nothing seen is lost, counts are right, each oddity is reported once."""

from __future__ import annotations

from pathlib import Path

from abcdlink.judgments import Label, Skip
from abcdlink.layout import batch_file
from abcdlink.store import Store
from labelstudio_config.batches import requeue
from labelstudio_config.pages.annotate import LinkingPage
from labelstudio_config.progress import ProjectProgress
from labelstudio_config.run import known_so_far, read_pushed
from tasks.projects import push
from tests.helpers.batch_steps import RUN, SLUG, answer_all, finish, key_of, look, pulled
from tests.helpers.fake_label_studio import ADA, BEN, CY, FakeLabelStudio


def test_a_consistent_push_is_not_read_back(store: Store, server: FakeLabelStudio, keys: tuple[str, ...]) -> None:
    assert len(server.all_tasks()) == len(keys)
    assert server.exports == 0


def test_duplicate_tasks_are_removed(store: Store, server: FakeLabelStudio, keys: tuple[str, ...]) -> None:
    (project,) = server.projects
    server.delete_task(server.task(keys[0])["id"])
    whole = server.import_tasks
    server.import_tasks = lambda project, tasks: [whole(project, tasks), whole(project, tasks)]
    assert look(store)[0].tasks == len(keys)
    assert sorted(task["data"]["task_key"] for task in server.held[project]) == sorted(keys)


def test_a_deleted_answer_is_awaited_again_and_reported_once(
    store: Store, server: FakeLabelStudio, keys: tuple[str, ...]
) -> None:
    answer_all(server, keys, ADA, BEN, but=keys[:1])
    server.answer(keys[0], ADA)
    deleted = server.answer(keys[0], BEN)
    assert look(store) == (progress(keys), [])
    server.delete_annotation(deleted)
    now, said = look(store)
    assert (now.done, now.complete) == (len(keys) - 1, False)
    assert len(said) == 1
    assert f"the answer of ben@example.org to the task {keys[0]}" in said[0]
    assert "was deleted" in said[0]
    assert look(store)[1] == []
    server.answer(keys[0], CY, "No Link")
    finish(store)
    assert {one.annotator for one in pulled(store) if keys[0] == key_of(store, one)} == {"annotator-1", "annotator-3"}
    anomalies = store.read_json(batch_file(1, "anomalies.json"))
    assert [line for line in anomalies if "annotator-2" in line and "deleted" in line]


def progress(keys: tuple[str, ...]) -> ProjectProgress:
    return ProjectProgress(tasks=len(keys), done=len(keys), complete=True)


def test_a_deleted_finished_task_counts_as_last_seen(
    store: Store, server: FakeLabelStudio, keys: tuple[str, ...]
) -> None:
    answer_all(server, keys, ADA, BEN)
    look(store)
    server.delete_task(server.task(keys[0])["id"])
    now, said = look(store)
    assert now.complete
    assert len(said) == 1
    assert f"the task {keys[0]} was deleted" in said[0]
    assert "2 answers to it count" in said[0]
    assert len(server.all_tasks()) == len(keys) - 1
    finish(store)
    assert len({key_of(store, one) for one in pulled(store)}) == len(keys)


def test_a_deleted_unfinished_task_is_pushed_again_and_its_answer_kept(
    store: Store, server: FakeLabelStudio, keys: tuple[str, ...]
) -> None:
    answer_all(server, keys, ADA, BEN, but=keys[:1])
    server.answer(keys[0], ADA)
    look(store)
    before = server.task(keys[0])
    server.delete_task(before["id"])
    now, _ = look(store)
    assert (now.done, now.complete) == (len(keys) - 1, False)
    assert server.task(keys[0])["data"] == before["data"]
    server.answer(keys[0], BEN)
    assert look(store)[0].complete


def test_a_deleted_project_loses_nothing(store: Store, server: FakeLabelStudio, keys: tuple[str, ...]) -> None:
    half = keys[: len(keys) // 2]
    answer_all(server, half, ADA, BEN)
    look(store)
    (project,) = server.projects
    server.delete_project(project)
    now, said = look(store)
    assert (now.tasks, now.done) == (len(keys), len(half))
    assert len(said) == 1
    assert f"the project {project} was deleted with {len(keys)} tasks" in said[0]
    assert {task["data"]["task_key"] for task in server.all_tasks()} == set(keys) - set(half)
    assert read_pushed(store, SLUG).project_id in server.projects
    answer_all(server, keys[len(half) :], ADA, BEN)
    finish(store)
    assert len({key_of(store, one) for one in pulled(store)}) == len(keys)


def test_a_removed_account_keeps_its_name_and_answers(
    store: Store, server: FakeLabelStudio, keys: tuple[str, ...]
) -> None:
    answer_all(server, keys, ADA, BEN)
    look(store)
    server.remove_account(ADA)
    server.remove_account(BEN)
    now, said = look(store)
    assert now == progress(keys)
    assert [line.split(" was")[0] for line in said] == [
        "the account of ada@example.org",
        "the account of ben@example.org",
    ]
    finish(store)
    assert {one.annotator for one in pulled(store)} == {"annotator-1", "annotator-2"}


def test_skips_double_answers_foreign_tasks_and_drafts_are_reported(
    store: Store, server: FakeLabelStudio, keys: tuple[str, ...]
) -> None:
    answer_all(server, keys, ADA, BEN, but=keys[:2])
    server.answer(keys[0], ADA, skipped=True)
    server.answer(keys[0], BEN)
    server.answer(keys[1], ADA)
    server.answer(keys[1], ADA, "No Link")
    server.answer(keys[1], BEN)
    server.draft(keys[2], CY)
    server.draft(keys[3], ADA)
    server.import_tasks(next(iter(server.projects)), [{"data": {"task_key": "unknown"}}])
    finish(store)
    said = store.read_json(batch_file(1, "anomalies.json"))
    assert len(said) == 4
    for part in (
        f"annotator-1 skipped the task {keys[0]}",
        f"annotator-1 answered the task {keys[1]} 2 times",
        f"left 1 drafts that were never submitted ({keys[2]})",
        "1 tasks in the project",
    ):
        assert sum(part in line for line in said) == 1, part
    assert {one.label for one in pulled(store) if (key_of(store, one), one.annotator) == (keys[1], "annotator-1")} == {
        Label.NO_LINK
    }


def test_nothing_is_written_when_nothing_is_new(store: Store, server: FakeLabelStudio, keys: tuple[str, ...]) -> None:
    server.answer(keys[0], ADA)
    server.draft(keys[1], BEN)
    look(store)
    file = Path(store.where(f"label-studio/{SLUG}/snapshot.json"))
    before = file.stat().st_ino
    server.task(keys[1])["drafts"][0]["created_ago"] = "1 minute"
    look(store)
    assert file.stat().st_ino == before
    server.answer(keys[1], ADA)
    look(store)
    assert file.stat().st_ino != before


def test_an_answer_changed_before_the_pull_is_kept_as_it_was(
    store: Store, server: FakeLabelStudio, keys: tuple[str, ...]
) -> None:
    answer = server.answer(keys[0], ADA, "Link")
    look(store)
    server.change(answer, "No Link")
    assert look(store)[1] == []
    kept = known_so_far(store, read_pushed(store, SLUG)).history
    assert [one.annotation["result"][0]["value"]["choices"] for one in kept.earlier] == [["Link"]]


def test_skipped_tasks_are_offered_again_and_awaited(
    store: Store, server: FakeLabelStudio, keys: tuple[str, ...]
) -> None:
    answer_all(server, keys, ADA, BEN, but=keys[:1])
    server.answer(keys[0], ADA, skipped=True)
    server.answer(keys[0], BEN)
    look(store)
    assert len(requeue(store, 1)) == 1
    assert [one["completed_by"] for one in server.task(keys[0])["annotations"]] == [BEN]
    now, said = look(store)
    assert not now.complete
    assert said == []
    server.answer(keys[0], ADA)
    finish(store)
    assert store.read_records(batch_file(1, "skips.jsonl"), Skip) == []
    assert requeue(store, 1) == ["nobody skipped a task of this batch"]
    server.answer(keys[0], ADA, skipped=True)
    assert "annotate pull" in requeue(store, 1)[-1]


def test_duplicates_left_by_a_killed_push_are_removed(
    store: Store, server: FakeLabelStudio, keys: tuple[str, ...]
) -> None:
    (project,) = server.projects
    server.import_tasks(project, [{"data": server.task(key)["data"]} for key in keys[:2]])
    store.folder.remove(f"label-studio/{SLUG}/pushed.json")
    push.fn(RUN, "news", LinkingPage(batch=1, overlap=2, shared=True))
    assert sorted(task["data"]["task_key"] for task in server.held[project]) == sorted(keys)
