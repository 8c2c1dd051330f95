"""The commands of batches: what they print, as text and as JSON, and what they refuse."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from abcdlink import rate
from abcdlink.corpus.io import read_corpus_from, write_corpus_to
from abcdlink.domain import find_domain
from abcdlink.errors import InputError, ServiceError
from abcdlink.interannotator.measures import keep_agreement
from abcdlink.judgments import Pool
from abcdlink.layout import NATURAL, POOLS, QUALIFY_SLUG, SYNTHETIC, feedback_slug
from abcdlink.qualify.gold import prepare
from abcdlink.store import open_run
from abcdlink.waiting import WaitsFor, is_closed, wait_for
from flows.commands import status
from labelstudio_config.attendance import note_people_progress
from labelstudio_config.pages.annotate import LinkingPage
from labelstudio_config.pages.qualify import QualificationPage
from labelstudio_config.pages.rate import RatingPage
from labelstudio_config.preview import write_preview
from labelstudio_config.projects import look_now
from labelstudio_config.run import read_pushed
from tasks.projects import pull, push
from tests.helpers.annotation import as_read
from tests.helpers.command_line import call, called
from tests.helpers.example_run import make_pools, take_in
from tests.helpers.fake_label_studio import ADA, BEN, PEOPLE, FakeLabelStudio, pushed_run, serve

RUN = "harbour"


@pytest.fixture
def server(isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> FakeLabelStudio:
    """A server with a batch of four tasks that nobody has answered."""
    fake = serve(monkeypatch)
    pushed_run(RUN, 4)
    return fake


@pytest.fixture
def keys(server: FakeLabelStudio) -> tuple[str, ...]:
    return read_pushed(open_run(RUN), "batch-1").task_keys


def test_status_names_everyone_and_the_link(server: FakeLabelStudio, keys: tuple[str, ...]) -> None:
    server.answer(keys[0], ADA)
    server.answer(keys[0], BEN)
    server.answer(keys[1], BEN)
    (batch,) = called("annotate", "status", RUN)["batches"]
    assert (batch["tasks"], batch["done"], batch["pulled"]) == (4, 1, 0)
    assert {row["account"]: (row["done"], row["open"]) for row in batch["people"]} == {
        PEOPLE[ADA]: (1, 3),
        PEOPLE[BEN]: (2, 2),
    }
    shown = call("annotate", "status", RUN)
    for part in (PEOPLE[ADA], PEOPLE[BEN], "1 of 4 tasks done", batch["url"]):
        assert part in shown


def test_interim_results_are_shown_and_a_full_pull_is_refused(server: FakeLabelStudio, keys: tuple[str, ...]) -> None:
    for user in (ADA, BEN):
        server.answer(keys[0], user)
    pools = {pool.key: pool for pool in open_run(RUN).read_records(POOLS, Pool)}
    assert called("annotate", "show", RUN)["batches"]["1"]["judged"] == len(pools[keys[0]].candidates)
    told = call("annotate", "show", RUN)
    assert "cannot be told from 1 pair: at least 5 judged pairs are needed" in " ".join(told.split())
    with pytest.raises(InputError, match="not complete"):
        call("annotate", "pull", RUN)


def test_changes_are_reported_and_pulled_once(server: FakeLabelStudio, keys: tuple[str, ...]) -> None:
    answers = [server.answer(key, user) for key in keys for user in (ADA, BEN)]
    look_now(open_run(RUN), "batch-1")
    pull.fn(RUN, LinkingPage(batch=1, overlap=2))
    keep_agreement(open_run(RUN), 1, 2)
    assert called("annotate", "check", RUN)["changes"] == {"1": []}
    server.change(answers[0], "No Link")
    change = f"annotator-1 changed the answer to the task {keys[0]}"
    assert called("annotate", "check", RUN)["changes"] == {"1": [change]}
    assert change in call("annotate", "check", RUN)
    assert called("annotate", "pull", RUN) == {"version": 2, "changes": [change]}
    assert "Nothing had changed" in call("annotate", "pull", RUN)


def test_work_is_handed_over_and_skipped_tasks_are_offered_again(
    server: FakeLabelStudio, keys: tuple[str, ...]
) -> None:
    server.answer(keys[0], ADA, skipped=True)
    assert any(
        "no longer waits for" in line for line in called("annotate", "reassign", RUN, "--from", PEOPLE[ADA])["said"]
    )
    assert len(called("annotate", "requeue", RUN)["said"]) == 1
    assert "Nobody skipped a task of this batch" in call("annotate", "requeue", RUN)
    assert server.task(keys[0])["annotations"] == []


def test_what_now_checks_label_studio_and_gives_the_links(
    server: FakeLabelStudio, keys: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_for(open_run(RUN), "f1", "annotate", WaitsFor.ANNOTATORS, "batch-1")
    server.answer(keys[0], ADA)
    shown = call("status", RUN)
    for part in ("1 of 8 answers", server.invitation(), read_pushed(open_run(RUN), "batch-1").url):
        assert part in shown
    monkeypatch.setattr(server, "tasks", away)
    told = called("status", RUN)
    assert "does not answer" in told["problem"]
    assert told["items"][0]["headline"] == "Annotators judge batch 1 of 1"
    listed = called("runs")["runs"]
    assert [(one["run"], one["headline"]) for one in listed] == [(RUN, "Annotators judge batch 1 of 1")]


def away(_project: int) -> list[dict[str, Any]]:
    msg = "Label Studio does not answer"
    raise ServiceError(msg)


def test_a_closed_batch_continues_with_its_present_answers(
    server: FakeLabelStudio, keys: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    resumed: list[str] = []
    monkeypatch.setattr(status, "use_local_server", lambda: None)
    monkeypatch.setattr("tasks.runs.reach_server", lambda: None)
    # The watcher was faster: there is nothing to resume any more.
    monkeypatch.setattr("tasks.runs.resume", lambda flow_run, _form=None: bool(resumed.append(flow_run)))
    with pytest.raises(InputError, match="is not waiting for the people of `abcdlink annotate`"):
        call("annotate", "close", RUN)
    store = open_run(RUN)
    wait_for(store, "f1", "annotate", WaitsFor.ANNOTATORS, "batch-1")
    for user in (ADA, BEN):
        server.answer(keys[0], user)
    call("annotate", "status", RUN)
    note_people_progress(store, *look_now(store, "batch-1"))
    assert "open tasks: 3 of 4, whose candidates get no label" in called("annotate", "close", RUN)["said"]
    assert resumed == ["f1"]
    assert is_closed(store, "batch-1", 4)
    assert not is_closed(store, "batch-1", 5), "tasks that are added later are waited for"
    pull.fn(RUN, LinkingPage(batch=1, overlap=2))
    judged = keep_agreement(store, 1, 2).judged
    assert called("annotate", "show", RUN)["batches"]["1"]["judged"] == judged
    assert judged == len({pool.key: pool for pool in store.read_records(POOLS, Pool)}[keys[0]].candidates)


def test_applicants_who_have_not_finished_have_open_tasks_though_enough_others_are_done(
    server: FakeLabelStudio,
) -> None:
    store = open_run(RUN)
    prepare(store, find_domain("news"), "sample")
    asked = push.fn(RUN, "news", QualificationPage(applicants=1))
    assert asked is not None
    wait_for(store, "f1", "qualify", WaitsFor.ANNOTATORS, QUALIFY_SLUG)
    for key in asked.task_keys:
        server.answer(key, ADA)
    server.answer(asked.task_keys[0], BEN)
    people = called("qualify", "status", RUN)["progress"]["people"]
    assert {one["account"]: one["open"] for one in people} == {PEOPLE[ADA]: 0, PEOPLE[BEN]: len(asked.task_keys) - 1}


def test_ratings_are_shown_so_far_and_who_gave_them(server: FakeLabelStudio) -> None:
    store = open_run(RUN)
    write_corpus_to(store, SYNTHETIC, read_corpus_from(store, NATURAL))
    sample = rate.prepare(store, find_domain("news"), 2, 1, 13)
    asked = push.fn(RUN, "news", RatingPage(overlap=2))
    assert asked is not None
    wait_for(store, "f1", "rate", WaitsFor.ANNOTATORS, asked.slug)
    assert "Nobody rated a document so far" in call("rate", "show", RUN)
    for number, one in enumerate(sample[:2], start=1):
        given = [{"from_name": f"rating_{n}", "value": {"choices": ["4"]}} for n in range(4)]
        server.task(one.key)["annotations"].append(as_read(number, ADA, given, f"2026-01-01T0{number}:00:00Z"))
    shown = call("rate", "show", RUN)
    assert "ratings so far" in shown
    assert "abcdlink rate status harbour" in shown
    people = called("rate", "status", RUN)["progress"]["people"]
    assert [(one["account"], one["done"], one["open"]) for one in people] == [(PEOPLE[ADA], 2, 1)]
    assert not store.exists(rate.RATINGS)


def test_a_batch_is_previewed_filtered_and_given_go(isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resumed: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr("flows.commands.annotate.resume_run", lambda run, form: resumed.append((run, form)))
    store = open_run(RUN)
    make_pools(store, take_in(store))
    with pytest.raises(InputError, match="no batch of run 'harbour' waits for your Go"):
        call("annotate", "go", RUN)
    preview = write_preview(store, find_domain("news"), LinkingPage(batch=1, overlap=2))
    wait_for(store, "f1", "annotate", WaitsFor.COORDINATOR, "batch-1")
    told = called("annotate", "preview", RUN)
    assert (told["tasks"], told["methods"]) == (preview.tasks, preview.methods)
    assert Path(told["page"]).exists()
    assert "random " in call("annotate", "preview", RUN)
    with pytest.raises(InputError, match="not a valid regular expression"):
        call("annotate", "preview", RUN, "--exclude", "(")
    assert resumed == []
    assert "being chosen again" in called("annotate", "preview", RUN, "--min-words", "7", "--exclude", "^Read")["said"]
    assert called("status", RUN)["items"][0]["headline"] == "The flow annotate is running"
    with pytest.raises(InputError, match="waits for your Go"):
        call("annotate", "go", RUN)
    wait_for(store, "f1", "annotate", WaitsFor.COORDINATOR, "batch-1")
    called("annotate", "preview", RUN, "--exclude", "", "--exclude", "^Read")
    wait_for(store, "f1", "annotate", WaitsFor.COORDINATOR, "batch-1")
    call("annotate", "go", RUN)
    now = preview.filters.model_dump(mode="json")
    assert resumed == [
        ("f1", {**now, "min_words": 7, "exclude": [*now["exclude"], "^Read"], "go": False}),
        ("f1", {**now, "exclude": ["^Read"], "go": False}),
        ("f1", {**now, "go": True}),
    ]
    wait_for(store, "f1", "annotate", WaitsFor.COORDINATOR, feedback_slug(1))
    with pytest.raises(InputError, match="waits for your Go"):
        call("annotate", "go", RUN)


def test_every_kind_of_work_has_the_same_four_commands() -> None:
    for kind in ("annotate", "feedback", "adjudicate", "rate", "qualify", "exhaustive", "coding", "boundaries"):
        told = call(kind, "--help")
        assert all(f" {command} " in told for command in ("start", "status", "close", "show")), kind


def test_status_links_the_page_of_a_run_without_importing_prefect(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("prefect", "prefect.client.orchestration", "flows.waiting", "tasks.runs"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delenv("PREFECT_UI_URL", raising=False)
    monkeypatch.setenv("PREFECT_API_URL", "http://prefect.invalid:4200/api")
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    store = open_run("spring")
    store.note("inputs", {})
    wait_for(store, "0a1b", "annotate", WaitsFor.LLM, told="The LLM answers a batch of questions.")
    assert "http://prefect.invalid:4200/runs/flow-run/0a1b" in call("status", "spring")


@pytest.mark.usefixtures("isolated_home")
def test_status_says_when_nothing_can_be_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    store = open_run(RUN)
    store.note("run", {})
    wait_for(store, "f1", "annotate", WaitsFor.NOBODY)
    assert "Prefect does not answer. If it is stopped, nothing is at work: run `abcdlink up`" in call("status", RUN)
