"""On a real Label Studio server: nothing twice, nothing lost, nothing leaked, nobody waits forever."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import httpx
import pytest

from abcdlink.errors import InputError, ServiceError
from abcdlink.judgments import Label
from labelstudio_config import projects
from labelstudio_config.accounts import log_in, sign_up, with_own_token
from labelstudio_config.client import CLOSED, TO_DO, Client, connect
from labelstudio_config.pages.annotate import batch_title
from labelstudio_config.run import ProjectAt, find_project, require_project
from tests.helpers.annotation import SECRETS, Run, annotator, make_run, pushed, skip, submit
from tests.helpers.label_studio_server import LabelStudioServer, free_port
from tests.helpers.pulls import keys_of, progress_of, pull_batch, push_batch


def keys_there(client: Client, run: Run) -> list[str]:
    """Task keys in the project, in the order in which annotators get the tasks."""
    tasks = client.tasks(require_project(client, batch_title(run.key, 1)))
    return [task["data"]["task_key"] for task in sorted(tasks, key=lambda task: task["id"])]


def task_ids(client: Client, run: Run) -> dict[str, int]:
    return {
        task["data"]["task_key"]: task["id"] for task in client.tasks(require_project(client, batch_title(run.key, 1)))
    }


def test_pushing_twice_adds_tasks_once_and_keeps_pairs_together(client: Client) -> None:
    run = make_run(tasks=10)
    turned = run.pools[::-1]
    first = push_batch(client, run.key, 1, turned, run.corpus, run.domain)
    second = pushed(client, run)
    assert first == second
    assert keys_there(client, run) == [pool.key for pool in run.pools]


def test_simultaneous_pushes_add_tasks_once(client: Client, label_studio: LabelStudioServer) -> None:
    run = make_run(tasks=8)
    start = threading.Barrier(3)

    def push_now(_: int) -> ProjectAt:
        own = connect(label_studio.url, label_studio.token)
        start.wait()
        return pushed(own, run)

    with ThreadPoolExecutor(3) as pushers:
        results = list(pushers.map(push_now, range(3)))
    assert len({result.project_id for result in results}) == 1
    assert Counter(keys_there(client, run)) == Counter(pool.key for pool in run.pools)
    assert len(client.projects_titled(f"{run.key} · batch 1")) == 1


def test_a_push_whose_project_another_push_deleted_starts_again(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, count, gone = make_run(tasks=3), client.counts, list[int]()

    def delete_first(project: int) -> tuple[int, ...]:
        if not gone:
            gone.append(project)
            client.delete_project(project)
        return count(project)

    monkeypatch.setattr(client, "counts", delete_first)
    assert pushed(client, run).project_id not in gone
    assert keys_there(client, run) == [pool.key for pool in run.pools]


def test_simultaneous_exports_are_whole(client: Client, label_studio: LabelStudioServer) -> None:
    """On the server, exports of the same answers within a minute are one file."""
    run = make_run(tasks=8)
    project = pushed(client, run).project_id
    keys = Counter(pool.key for pool in run.pools)
    with ThreadPoolExecutor(4) as readers:
        exports = [readers.submit(connect(label_studio.url, label_studio.token).tasks, project) for _ in range(24)]
    assert all(Counter(task["data"]["task_key"] for task in export.result()) == keys for export in exports)


def _push_and_die(server: LabelStudioServer, run: Run) -> None:
    client = connect(server.url, server.token)
    whole = client.import_tasks

    def die_after_one(project: int, tasks: list[dict]) -> None:
        whole(project, tasks)
        os.kill(os.getpid(), signal.SIGKILL)

    client.import_tasks = die_after_one
    projects.CHUNK = 3
    pushed(client, run)


def test_a_killed_push_resumes(client: Client, label_studio: LabelStudioServer) -> None:
    run = make_run(tasks=8)
    process = multiprocessing.get_context("fork").Process(target=_push_and_die, args=(label_studio, run))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    assert len(keys_there(client, run)) == 3
    pushed(client, run)
    assert keys_there(client, run) == [pool.key for pool in run.pools]


def test_a_started_task_is_never_removed(client: Client) -> None:
    run = make_run(tasks=2)
    project = pushed(client, run).project_id
    # As after a call that was repeated because its answer came too late.
    again = [{"data": task["data"]} for task in client.tasks(project)]
    client.import_tasks(project, again)
    doubled = sorted(client.tasks(project), key=lambda task: task["id"])[2:]
    with annotator(client) as session:
        submit(session, doubled[0]["id"], ["Link"] * 3).raise_for_status()
    later = make_run(tasks=4)
    more = Run(run.key, run.corpus.model_copy(), [*run.pools, *_moved(later, run)], run.domain)
    pushed(client, more)
    assert sorted(Counter(keys_there(client, more)).values()) == [1, 1, 1, 2]
    result = pull_batch(client, run.key, 1, more.pools)
    assert len(result.judgments) == 3


def _moved(later: Run, run: Run) -> list:
    """The last two pools of another run, as pools of this run's only pair."""
    return [pool.model_copy(update={"pair": run.pools[0].pair}) for pool in later.pools[2:]]


def test_an_annotator_sees_neither_method_nor_gold(client: Client) -> None:
    run = make_run(tasks=4)
    project = pushed(client, run).project_id
    task = client.tasks(project)[0]["id"]
    addresses = [
        *("/api/projects/", f"/api/projects/{project}/", f"/api/projects/{project}/summary/"),
        *(f"/api/projects/{project}/tasks/", f"/api/tasks/{task}/", f"/api/tasks?project={project}&fields=all"),
        *(
            f"/api/dm/views?project={project}",
            f"/api/dm/columns?project={project}",
            f"/api/dm/project?project={project}",
        ),
        *(f"/api/dm/tasks/{task}?project={project}", f"/api/tasks?project={project}&resolve_uri=true"),
        *(f"/api/dm/actions?project={project}", f"/api/projects/{project}/imports", "/api/webhooks/", "/api/users/"),
        *(f"/api/projects/{project}/export/formats", f"/api/projects/{project}/exports/", "/api/organizations"),
        *(f"/api/ml?project={project}", f"/api/storages?project={project}", f"/api/predictions?project={project}"),
        *(
            f"/api/projects/{project}/file-uploads",
            f"/api/projects/{project}/validate/",
            "/api/projects/counts",
            "/api/version",
        ),
        *(f"/projects/{project}/data", f"/projects/{project}/settings", f"/projects/{project}/settings/instruction"),
    ]
    formats = ("JSON", "JSON_MIN", "CSV", "TSV")
    addresses += [f"/api/projects/{project}/export?exportType={f}&download_all_tasks=true" for f in formats]
    with annotator(client) as session:
        answers = {address: session.get(address, follow_redirects=True) for address in addresses}
        answers["next"] = session.post(f"/api/dm/actions?id=next_task&project={project}", json={})
        submit(session, task, ["Link"] * 3).raise_for_status()
        answers["mine"] = session.get(f"/api/tasks/{task}/annotations/")
    read = {address: answer.text for address, answer in answers.items() if answer.is_success}
    # The URLs are right: the texts, the title and the label config could be read.
    for address, text in [
        (f"/api/tasks?project={project}&fields=all", run.corpus.documents["source-bilby-0"].texts[0]),
        (f"/api/projects/{project}/", run.key),
        (f"/api/projects/{project}/", "No Link"),
        ("next", run.pools[0].key),
    ]:
        assert text in read[address], address
    assert not any("export" in address for address in read)  # the server refuses it: it holds other people's answers
    approaches = ("retriever", "bm25", "minilm", "listwise", "distractor")
    leaks = {
        (address, word) for address, text in read.items() for word in (*SECRETS, *approaches) if word in text.lower()
    }
    assert not leaks


def test_eight_simultaneous_annotators_never_leave_a_batch_waiting(client: Client) -> None:
    run = make_run(tasks=6)
    push_batch(client, run.key, 1, run.pools, run.corpus, run.domain, overlap=8)
    tasks = task_ids(client, run)
    start = threading.Barrier(8)
    failed: list[int] = []

    def work(session: httpx.Client) -> None:
        for task in tasks.values():
            start.wait()
            answer = submit(session, task, ["Link", "No Link", "Link"])
            while not answer.is_success:  # SQLite has one writer; a person presses Submit again
                failed.append(answer.status_code)
                assert len(failed) < 100
                answer = submit(session, task, ["Link", "No Link", "Link"])

    with ExitStack() as stack, ThreadPoolExecutor(8) as threads:
        people = [stack.enter_context(annotator(client, f"person{n}")) for n in range(8)]
        list(threads.map(work, people))
    progress = progress_of(client, batch_title(run.key, 1), keys_of(run.pools, 1), overlap=8)
    assert (progress.tasks, progress.done, progress.complete) == (6, 6, True)
    result = pull_batch(client, run.key, 1, run.pools)
    assert len(result.judgments) == 6 * 8 * 3
    assert Counter(j.label for j in result.judgments) == {Label.LINK: 6 * 8 * 2, Label.NO_LINK: 6 * 8}


def test_nobody_is_offered_a_fully_answered_task_whose_mark_was_lost_or_one_of_a_closed_project(
    client: Client, label_studio: LabelStudioServer
) -> None:
    """Of two people who submit at the same moment, the request that counted first may write last: not done."""
    run = make_run(tasks=2)
    project = pushed(client, run).project_id
    first, second = (task_ids(client, run)[pool.key] for pool in run.pools)
    place = f"{label_studio.url}/api/tasks/{first}/"
    token = {"Authorization": f"Token {label_studio.token}"}

    def marked(**change: bool) -> bool:
        method = "PATCH" if change else "GET"
        answer = httpx.request(method, place, headers=token, json=change or None, timeout=60)
        return answer.raise_for_status().json()["is_labeled"]

    def offered(session: httpx.Client) -> int | None:
        answer = session.post(f"/api/dm/actions?id=next_task&project={project}", json={"ordering": ["tasks:id"]})
        return None if answer.status_code == httpx.codes.NOT_FOUND else answer.raise_for_status().json()["id"]

    with ExitStack() as stack:
        ada, ben, cy, dan, eve = (
            stack.enter_context(annotator(client, name)) for name in ("ada", "ben", "cy", "d", "e")
        )
        for person in (ada, ben):
            submit(person, first, ["Link"] * 3).raise_for_status()
        assert not marked(is_labeled=False)
        assert [offered(cy), offered(dan), offered(eve)] == [second, second, None]
        assert marked()
        for state, task in ((CLOSED, None), (TO_DO, second)):
            client.change_project(project, title=f"{state}batch", color="#9A9A9A")
            assert offered(cy) == task


def test_progress_rises_with_each_answer_and_a_skip_counts_as_done_but_missing(client: Client) -> None:
    run = make_run(tasks=2)
    pushed(client, run)
    first, second = (task_ids(client, run)[pool.key] for pool in run.pools)

    def done() -> tuple[int, bool]:
        progress = progress_of(client, batch_title(run.key, 1), keys_of(run.pools, 1), overlap=2)
        return progress.done, progress.complete

    with annotator(client, "ada") as ada, annotator(client, "ben") as ben:
        assert done() == (0, False)
        submit(ada, first, ["Link"] * 3).raise_for_status()
        submit(ada, second, ["Link"] * 3).raise_for_status()
        assert done() == (0, False)
        ben.post(f"/api/tasks/{second}/drafts", json={"result": [], "lead_time": 1}).raise_for_status()
        assert done() == (0, False)
        submit(ben, first, ["No Link"] * 3).raise_for_status()
        assert done() == (1, False)
        skip(ben, second)
        assert done() == (2, True)
    result = pull_batch(client, run.key, 1, run.pools)
    assert Counter((j.annotator, j.label) for j in result.judgments) == {
        ("annotator-1", Label.LINK): 6,
        ("annotator-2", Label.NO_LINK): 3,
    }
    assert [(s.key, s.annotator) for s in result.skips] == [(run.pools[1].key, "annotator-2")]
    assert {j.seconds for j in result.judgments} == {3.5}


def test_a_double_submission_counts_once(client: Client) -> None:
    run = make_run(tasks=1)
    pushed(client, run)
    task = task_ids(client, run)[run.pools[0].key]
    with annotator(client) as session:
        submit(session, task, ["Link"] * 3).raise_for_status()
        submit(session, task, ["No Link"] * 3).raise_for_status()
    assert not progress_of(client, batch_title(run.key, 1), keys_of(run.pools, 1), overlap=2).complete
    result = pull_batch(client, run.key, 1, run.pools)
    assert [j.label for j in result.judgments] == [Label.NO_LINK] * 3
    assert result.anomalies == [f"annotator-1 answered the task {run.pools[0].key} 2 times; the newest counts"]


def test_a_vanished_task_is_reported_and_not_done(client: Client) -> None:
    run = make_run(tasks=2)
    pushed(client, run)
    tasks = task_ids(client, run)
    gone, kept = run.pools[0].key, run.pools[1].key
    client.delete_task(tasks[gone])
    with annotator(client) as session:
        submit(session, tasks[kept], ["Link"] * 3).raise_for_status()
    progress = progress_of(client, batch_title(run.key, 1), keys_of(run.pools, 1), overlap=1)
    assert (progress.tasks, progress.done, progress.complete) == (2, 1, False)
    assert gone in pull_batch(client, run.key, 1, run.pools).anomalies[0]


def test_a_vanished_project_is_one_clear_error(client: Client) -> None:
    run = make_run(tasks=1)
    client.delete_project(pushed(client, run).project_id)
    with pytest.raises(ServiceError, match="push it again"):
        progress_of(client, batch_title(run.key, 1), keys_of(run.pools, 1), overlap=2)


def test_answers_of_a_deleted_account_are_kept(client: Client) -> None:
    run = make_run(tasks=1)
    pushed(client, run)
    with annotator(client) as session:
        submit(session, task_ids(client, run)[run.pools[0].key], ["Link"] * 3).raise_for_status()
        account = session.get("/api/current-user/whoami").json()
    client._sdk.users.delete(id=account["id"])
    assert account["email"] not in client.accounts().values()
    result = pull_batch(client, run.key, 1, run.pools)
    assert len(result.judgments) == 3


def test_a_batch_without_pools_is_one_clear_error(client: Client) -> None:
    run = make_run(tasks=1)
    with pytest.raises(InputError, match="batch 2"):
        pushed(client, run, batch=2)
    assert find_project(client, batch_title(run.key, 2)) is None


def test_no_token_a_wrong_token_and_a_dead_server_are_clear_errors(label_studio: LabelStudioServer) -> None:
    with pytest.raises(ServiceError, match="ABCDLINK_LABEL_STUDIO_TOKEN"):
        connect(label_studio.url, "")
    with pytest.raises(ServiceError, match="refuses the token") as refused:
        connect(label_studio.url, "0" * 40)
    assert "sessionid" not in str(refused.value)
    assert "0" * 40 not in str(refused.value)
    with pytest.raises(ServiceError, match="ABCDLINK_LABEL_STUDIO_URL"):
        connect(f"http://127.0.0.1:{free_port()}", label_studio.token)


def test_invalid_accounts_are_clear_errors(client: Client, label_studio: LabelStudioServer) -> None:
    with pytest.raises(ServiceError, match="already exists"):
        sign_up(client.invitation(), label_studio.email, "some-other-password")
    with pytest.raises(ServiceError, match="match"):
        log_in(label_studio.url, label_studio.email, "wrong")
    with pytest.raises(ServiceError, match="does not answer"):
        log_in(f"http://127.0.0.1:{free_port()}", "a@example.org", "whatever")


def test_an_answer_to_what_a_page_asked_for_before_a_log_in_does_not_undo_it(client: Client) -> None:
    for path in ("/sw.js", "/api/projects", "/favicon.ico", "/user/login/"):
        assert "sessionid" not in httpx.get(f"{client.url}{path}", timeout=60).cookies
    with annotator(client) as session:
        assert "sessionid" in session.get("/api/projects").cookies


def test_an_annotator_works_with_their_own_token(client: Client) -> None:
    for name in ("ada", "ben"):
        with annotator(client, name) as session, closing(with_own_token(session)) as connection:
            token = {"Authorization": connection.headers["Authorization"]}
            account = httpx.get(f"{client.url}/api/current-user/whoami", headers=token).raise_for_status().json()
            assert account["email"].startswith(name)
    with (
        closing(httpx.Client(base_url=client.url)) as stranger,
        pytest.raises(ServiceError, match="account a token"),
    ):
        with_own_token(stranger)
