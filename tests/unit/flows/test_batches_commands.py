"""The commands of batches: what they print, as text and as JSON, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from abcdlink.cli.app import make_app
from abcdlink.domain import find_domain
from abcdlink.errors import ServiceError
from abcdlink.interannotator.measures import keep_agreement
from abcdlink.judgments import Pool
from abcdlink.layout import POOLS, feedback_slug
from abcdlink.store import open_run
from abcdlink.waiting import WaitsFor, is_closed, wait_for
from flows.commands import status
from labelstudio_config.attendance import note_standing
from labelstudio_config.pages.annotate import LinkingPage
from labelstudio_config.preview import write_preview
from labelstudio_config.projects import look_now
from labelstudio_config.run import read_pushed
from tasks.projects import pull
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


def call(*words: str) -> Result:
    result = CliRunner().invoke(make_app(), ["annotate", *words])
    assert result.exception is None, result.output
    return result


def called(*words: str) -> dict[str, Any]:
    return json.loads(call(*words, "--json").stdout)


def test_status_names_everyone_and_the_link(server: FakeLabelStudio, keys: tuple[str, ...]) -> None:
    server.answer(keys[0], ADA)
    server.answer(keys[0], BEN)
    server.answer(keys[1], BEN)
    (batch,) = called("status", RUN)["batches"]
    assert (batch["tasks"], batch["done"], batch["pulled"]) == (4, 1, 0)
    assert {row["account"]: (row["done"], row["open"]) for row in batch["people"]} == {
        PEOPLE[ADA]: (1, 3),
        PEOPLE[BEN]: (2, 2),
    }
    shown = call("status", RUN).stdout
    for part in (PEOPLE[ADA], PEOPLE[BEN], "1 of 4 tasks done", batch["url"]):
        assert part in shown


def test_interim_results_are_shown_and_a_full_pull_is_refused(server: FakeLabelStudio, keys: tuple[str, ...]) -> None:
    for user in (ADA, BEN):
        server.answer(keys[0], user)
    pools = {pool.key: pool for pool in open_run(RUN).read_records(POOLS, Pool)}
    assert called("show", RUN)["batches"]["1"]["judged"] == len(pools[keys[0]].candidates)
    told = call("show", RUN).stdout
    assert "no estimate for 1 pairs: at least 5 judged pairs are needed" in told
    refused = CliRunner().invoke(make_app(), ["annotate", "pull", RUN])
    assert "not complete" in str(refused.exception)


def test_changes_are_reported_and_pulled_once(server: FakeLabelStudio, keys: tuple[str, ...]) -> None:
    answers = [server.answer(key, user) for key in keys for user in (ADA, BEN)]
    look_now(open_run(RUN), "batch-1")
    pull.fn(RUN, LinkingPage(batch=1, overlap=2))
    keep_agreement(open_run(RUN), 1, 2)
    assert called("check", RUN)["changes"] == {"1": []}
    server.change(answers[0], "No Link")
    change = f"annotator-1 changed the answer to the task {keys[0]}"
    assert called("check", RUN)["changes"] == {"1": [change]}
    assert change in call("check", RUN).stdout
    assert called("pull", RUN) == {"version": 2, "changes": [change]}
    assert "Nothing had changed" in call("pull", RUN).stdout


def test_work_is_handed_over_and_skipped_tasks_are_offered_again(
    server: FakeLabelStudio, keys: tuple[str, ...]
) -> None:
    server.answer(keys[0], ADA, skipped=True)
    assert any("no longer waits for" in line for line in called("reassign", RUN, "--from", PEOPLE[ADA])["said"])
    assert len(called("requeue", RUN)["said"]) == 1
    assert "Nobody skipped a task of this batch" in call("requeue", RUN).stdout
    assert server.task(keys[0])["annotations"] == []


def test_what_now_checks_label_studio_and_gives_the_links(
    server: FakeLabelStudio, keys: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_for(open_run(RUN), "f1", "annotate", WaitsFor.ANNOTATORS, "batch-1")
    server.answer(keys[0], ADA)
    shown = invoke("status", RUN).stdout
    for part in ("1 of 8 answers", server.invitation(), read_pushed(open_run(RUN), "batch-1").url):
        assert part in shown
    monkeypatch.setattr(server, "tasks", away)
    told = json.loads(invoke("status", RUN, "--json").stdout)
    assert "does not answer" in told["problem"]
    assert told["items"][0]["headline"] == "Annotators judge batch 1 of 1"
    listed = json.loads(invoke("runs", "--json").stdout)["runs"]
    assert [(one["run"], one["headline"]) for one in listed] == [(RUN, "Annotators judge batch 1 of 1")]


def away(_project: int) -> list[dict[str, Any]]:
    msg = "Label Studio does not answer"
    raise ServiceError(msg)


def invoke(*words: str) -> Result:
    result = CliRunner().invoke(make_app(), list(words))
    assert result.exception is None, result.output
    return result


def test_a_closed_batch_continues_with_its_present_answers(
    server: FakeLabelStudio, keys: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    resumed: list[str] = []
    monkeypatch.setattr(status, "resume_run", lambda flow_run, _form=None: resumed.append(flow_run))
    refused = CliRunner().invoke(make_app(), ["annotate", "close", RUN])
    assert "is not waiting for anyone" in str(refused.exception)
    store = open_run(RUN)
    wait_for(store, "f1", "annotate", WaitsFor.ANNOTATORS, "batch-1")
    for user in (ADA, BEN):
        server.answer(keys[0], user)
    call("status", RUN)
    note_standing(store, *look_now(store, "batch-1"))
    assert "3 of 4 tasks are open" in called("close", RUN)["said"]
    assert resumed == ["f1"]
    assert is_closed(store, "batch-1", 4)
    assert not is_closed(store, "batch-1", 5), "tasks that are added later are waited for"
    pull.fn(RUN, LinkingPage(batch=1, overlap=2))
    judged = keep_agreement(store, 1, 2).judged
    assert called("show", RUN)["batches"]["1"]["judged"] == judged
    assert judged == len({pool.key: pool for pool in store.read_records(POOLS, Pool)}[keys[0]].candidates)


def test_a_batch_is_previewed_filtered_and_given_go(isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resumed: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr("flows.commands.annotate.resume_run", lambda run, form: resumed.append((run, form)))
    store = open_run(RUN)
    make_pools(store, take_in(store))
    refused = CliRunner().invoke(make_app(), ["annotate", "go", RUN])
    assert "no batch of run 'harbour' waits for your Go" in str(refused.exception)
    preview = write_preview(store, find_domain("news"), LinkingPage(batch=1, overlap=2))
    wait_for(store, "f1", "annotate", WaitsFor.COORDINATOR, "batch-1")
    told = called("preview", RUN)
    assert (told["tasks"], told["methods"]) == (preview.tasks, preview.methods)
    assert Path(told["page"]).exists()
    assert "random " in call("preview", RUN).stdout
    wrong = CliRunner().invoke(make_app(), ["annotate", "preview", RUN, "--exclude", "("])
    assert "not a valid regular expression" in str(wrong.exception)
    assert resumed == []
    assert "being chosen again" in called("preview", RUN, "--min-words", "7", "--exclude", "^Read")["said"]
    called("preview", RUN, "--exclude", "", "--exclude", "^Read")
    call("go", RUN)
    now = preview.filters.model_dump(mode="json")
    assert resumed == [
        ("f1", {**now, "min_words": 7, "exclude": [*now["exclude"], "^Read"], "go": False}),
        ("f1", {**now, "exclude": ["^Read"], "go": False}),
        ("f1", {**now, "go": True}),
    ]
    wait_for(store, "f1", "annotate", WaitsFor.COORDINATOR, feedback_slug(1))
    refused = CliRunner().invoke(make_app(), ["annotate", "go", RUN])
    assert "waits for your Go" in str(refused.exception)


def test_every_kind_of_work_has_the_same_four_commands() -> None:
    for kind in ("annotate", "feedback", "adjudicate", "rate", "qualify", "exhaustive", "coding", "boundaries"):
        told = invoke(kind, "--help").stdout
        assert all(f" {command} " in told for command in ("start", "status", "close", "show")), kind
