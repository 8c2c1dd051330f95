"""The commands of batches: what they print, as text and as JSON, and what they refuse."""

from __future__ import annotations

import logging
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import httpx
import pytest
from prefect.client.schemas import FlowRun
from prefect.exceptions import PrefectHTTPStatusError
from prefect.input import RunInput
from prefect.states import Completed, Scheduled

from abcdlink import rate
from abcdlink.corpus.io import read_corpus_from, write_corpus, write_corpus_to
from abcdlink.corpus.records import Pair
from abcdlink.domain import find_domain
from abcdlink.errors import InputError, ServiceError
from abcdlink.feedback import Acknowledgement
from abcdlink.interannotator.measures import keep_agreement
from abcdlink.judgments import Pool
from abcdlink.layout import NATURAL, POOLS, QUALIFY_SLUG, SYNTHETIC, batch_slug, feedback_slug
from abcdlink.qualify.gold import gold_set_of, prepare
from abcdlink.stages.candidates import batches_of, overlap_of
from abcdlink.stages.feedback import end_feedback
from abcdlink.stages.intake import describe_run
from abcdlink.store import Store, open_run
from abcdlink.waiting import WaitsFor, is_closed, wait_for, waiting_of
from flows import waiting
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
from tests.helpers.builders import corpus, document
from tests.helpers.command_line import call, called
from tests.helpers.example_run import example_run, make_pools, take_in
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


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("ABCDLINK_RUNS", str(tmp_path))
    example_run(tmp_path)
    return open_run("harbour")


def test_show_prints_memos_draft_and_outcome(run: Store) -> None:
    text = call("feedback", "show", "harbour")
    for part in ("# Feedback for annotator-1", "# Feedback for annotator-2", "> DRAFT", "12 borderline cases"):
        assert part in text
    numbers = re.findall(r"^### Case (\d+)$", text[text.index("# Borderline cases") :], re.MULTILINE)
    assert numbers == [str(number) for number in range(1, 13)]
    end_feedback(run, 1, [], [])
    assert "12 disagreements, 0 were judged again" in call("feedback", "show", "harbour")
    shown = called("feedback", "show", "harbour")
    assert (shown["outcome"]["cases"], shown["accepted"]) == (12, None)


def test_show_lists_annotators_questions_at_the_end_of_the_round(run: Store) -> None:
    asked = (
        ("annotator-1", True, "What about [b]numbers[/b]?"),
        ("annotator-2", True, ""),
        ("annotator-3", False, "Thanks"),
    )
    end_feedback(
        run, 1, [], [Acknowledgement(batch=1, annotator=who, question=asks, comment=text) for who, asks, text in asked]
    )
    shown = call("feedback", "show", "harbour")
    for line in (
        "annotator-1 still has a question: What about [b]numbers[/b]?",
        "annotator-2 still has a question: they did not write which",
        "annotator-3 says: Thanks",
    ):
        assert line in shown


@pytest.mark.parametrize(
    ("kind", "slug", "problem"),
    [
        (WaitsFor.ANNOTATORS, batch_slug(1), "waits for the annotators of batch 1: there is no feedback"),
        (WaitsFor.NOTHING, batch_slug(2), "does not wait for you: there is no feedback to give now"),
    ],
)
def test_starting_is_refused_when_there_is_nothing_to_accept(
    run: Store, kind: WaitsFor, slug: str, problem: str
) -> None:
    wait_for(run, "00000000-0000-0000-0000-000000000000", "annotate", kind, slug)
    with pytest.raises(InputError, match=problem):
        call("feedback", "start", "harbour")


def test_clarifications_are_taken_once_and_only_from_an_existing_file(run: Store) -> None:
    for kind, problem in (
        (WaitsFor.COORDINATOR, "there is no file nowhere.md"),
        (WaitsFor.ANNOTATORS, "have already been accepted"),
    ):
        wait_for(run, "x", "annotate", kind, feedback_slug(1))
        with pytest.raises(InputError, match=problem):
            call("feedback", "start", "harbour", "--clarifications", "nowhere.md")


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


def test_what_a_flow_would_refuse_is_refused_before_it_starts(
    run: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    monkeypatch.setattr("tasks.runs.reach_server", lambda: None)
    monkeypatch.setattr(
        "tasks.runs.start", lambda flow, _: started.append(flow) or FlowRun(id=uuid4(), flow_id=uuid4())
    )
    describe_run(run, find_domain("news"))
    documents, pair = [document(name, ["A bridge."]) for name in "ab"], Pair(id="p", source="a", target="b")
    bare, unlinked = str(tmp_path / "bare"), str(tmp_path / "unlinked")
    write_corpus(corpus([], *documents), bare)
    write_corpus(corpus([pair], *documents), unlinked)
    for words, problem in (
        (("qualify", "start", "new", "--domain", "news", "--corpus", unlinked), "no pair with gold links"),
        (("boundaries", "start", "new", "--corpus", bare), "contains no pairs"),
        (("start", "new", "--corpus", bare), "contains no pairs"),
        (("run", "bootstrap", "new", "--corpus", bare), "contains no pairs"),
        (("annotate", "start", "harbour", "--batches", "3"), "candidates for 2 batches, and 3 are asked for"),
        (("annotate", "start", "harbour", "--domain", "reviews"), "reviews"),
    ):
        with pytest.raises(InputError, match=problem):
            call(*words)
    assert (started, open_run("new").manifest.get("inputs", {})) == ([], {})
    for words in (
        ("qualify", "start", "new", "--domain", "news"),
        ("boundaries", "start", "edges", "--corpus", unlinked),
        ("annotate", "start", "harbour"),
        ("rate", "start", "harbour", "--synthetic", "2"),
    ):
        call(*words)
    assert started == [f"{flow}/{flow}" for flow in ("qualify", "boundaries", "annotate", "rate")]
    assert batches_of(run, 3, begun=True) == 2  # as earlier versions began it
    assert gold_set_of(open_run("new")).links > 0
    run.note("annotation", {"batches": 2, "overlap": 3})
    for words in (("annotate", "start", "harbour", "--overlap", "2"), ("start", "harbour", "--corpus", unlinked)):
        with pytest.raises(InputError, match="began with 3 annotators per task, not 2"):
            call(*words)
    assert overlap_of(run, find_domain("news")) == 3  # whatever the domain says
    for words in (("qualify", "start", "new", "--links", "3"), ("rate", "start", "harbour", "--synthetic", "3")):
        with pytest.raises(InputError, match="other settings"):
            call(*words)


def test_a_flow_is_at_work_from_the_moment_that_it_is_started(run: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    describe_run(run, find_domain("news"))
    begun = FlowRun(id=uuid4(), flow_id=uuid4(), state=Scheduled())
    monkeypatch.setattr("tasks.runs.reach_server", lambda: None)
    monkeypatch.setattr("prefect.deployments.run_deployment", lambda *_, **__: begun)
    for words, headline in (
        (("annotate", "start", "harbour"), "The flow annotate is running"),
        (("start", "--corpus", "sample", "whole"), "The stage generate is running (step 2 of 6 before annotation)"),
        (("start", "--corpus", "sample", "--goal", "quick try", "try"), "The stage candidates is running (step 3 of 3"),
    ):
        call(*words)
        assert called("status", words[-1])["headline"].startswith(headline)
    for state, newest in ((Scheduled(), str(begun.id)), (Completed(), "f2")):
        begun.state = state
        wait_for(run, newest, "annotate", WaitsFor.ANNOTATORS)  # the flow was faster, or this start is an older one
        call("annotate", "start", "harbour")
        assert (noted := waiting_of(run, "annotate"))
        assert (noted.flow_run, noted.kind) == (newest, WaitsFor.ANNOTATORS)


def test_a_flow_is_at_work_again_as_soon_as_it_has_its_answer(run: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds: list[WaitsFor | None] = []

    def look(*_: object) -> None:
        kinds.append(getattr(waiting_of(run, "annotate"), "kind", None))

    for name, value in (
        ("flow_run", SimpleNamespace(id="f1", flow_name="annotate")),
        ("get_run_logger", logging.getLogger),
        ("show_what_now", look),
        ("suspend", look),
    ):
        monkeypatch.setattr(f"flows.waiting.{name}", value)
    waiting.wait_for_coordinator(run, feedback_slug(1), "The memos are ready.", "feedback-1", RunInput)
    assert kinds == [WaitsFor.COORDINATOR, WaitsFor.COORDINATOR, WaitsFor.NOBODY]


def test_a_setting_that_prefect_refuses_is_one_clear_error(run: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    reason = (
        "Error creating flow run: Validation failed for field 'annotation.reminder_block'. Failure reason: no slash"
    )

    def refuse(*_: object, **__: object) -> None:
        request = httpx.Request("POST", "http://prefect.invalid")
        response = httpx.Response(409, json={"detail": reason}, request=request)
        raise PrefectHTTPStatusError(reason, request=request, response=response)

    describe_run(run, find_domain("news"))
    monkeypatch.setattr("tasks.runs.reach_server", lambda: None)
    monkeypatch.setattr("prefect.deployments.run_deployment", refuse)
    with pytest.raises(InputError, match=r"flow annotate is invalid: field 'annotation.reminder_block': no slash"):
        call("annotate", "start", "harbour", "--reminders", "slack")


@pytest.mark.usefixtures("isolated_home")
def test_status_says_when_nothing_can_be_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    store = open_run(RUN)
    store.note("run", {})
    wait_for(store, "f1", "annotate", WaitsFor.NOBODY)
    assert "Prefect does not answer. If it is stopped, nothing is at work: run `abcdlink up`" in call("status", RUN)
