"""The whole job on real servers: Prefect, Label Studio, and an LLM endpoint that logs every question."""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from pathlib import Path

import pytest

from abcdlink.interannotator.measures import Agreement
from abcdlink.judgments import Annotator, Judgment, Pool
from abcdlink.layout import batch_slug, feedback_slug
from abcdlink.waiting import WaitsFor
from labelstudio_config.client import connect
from labelstudio_config.run import is_pushed, read_pushed
from labelstudio_config.simulate import batch_projects
from tests.helpers.stack import SMALL, Stack
from tests.helpers.waiting import until

KEY = "survivor"


@pytest.fixture(scope="module")
def asked_before(stack: Stack) -> int:
    """Bootstrap the run of this module; returns how many questions the LLM was asked before."""
    asked = len(stack.llm.questions)
    stack.prefect.wait(stack.prefect.start("bootstrap/bootstrap", {"run": KEY, **SMALL}), "Completed")
    return asked


def test_a_run_survives_a_killed_worker_with_every_step_done_once(stack: Stack, asked_before: int) -> None:
    key, prefect = KEY, stack.prefect
    (annotate,) = (run["id"] for run in prefect.runs("annotate") if run["parameters"]["run"] == key)
    stack.wait_until_waiting(annotate, key, WaitsFor.ANNOTATORS, batch_slug(1))

    now = what_now_shown(stack, key)
    assert "Annotators judge batch 1 of 2" in now
    assert "Nobody has started" in now
    assert "/user/signup" in now

    # The worker dies while the annotators work, and comes back when they are done.
    people = threading.Thread(target=stack.simulate, args=(key, 1))
    people.start()
    prefect.kill_worker()
    people.join()
    pushed = read_pushed(stack.run(key), batch_slug(1))
    prefect.start_worker()
    stack.look()
    stack.wait_until_waiting(annotate, key, WaitsFor.COORDINATOR, feedback_slug(1))

    # Only the coordinator can end the feedback round.
    stack.look()
    assert prefect.state(annotate) == "Suspended"
    assert not is_pushed(stack.run(key), batch_slug(2))
    form = {"clarifications": "", "label_studio_round": False}
    prefect.post(f"/flow_runs/{annotate}/resume", {"run_input": form})
    stack.wait_until_waiting(annotate, key, WaitsFor.ANNOTATORS, batch_slug(2))
    stack.simulate(key, 2)
    stack.bring_to_its_end(annotate)

    store = stack.run(key)
    # A flow's page is brought up to date after the flow has ended.
    until(lambda: "Complete: data set and report are written" in what_now_shown(stack, key), "a page that says so")
    assert read_pushed(store, batch_slug(1)) == pushed.model_copy(update={"closed": True})
    assert_every_step_was_done_once(stack, key, annotate, asked_before)
    judgments = store.read_records("judgments.jsonl", Judgment)
    candidates = sum(len(pool.candidates) for pool in store.read_records("candidates.jsonl", Pool))
    assert len(judgments) == 2 * candidates
    agreement = Agreement.model_validate_json(store.read_text("agreement.json"))
    assert agreement.judged == candidates
    assert set(agreement.batches) == {1, 2}
    assert "simulated" in store.read_text("report.html").lower()
    assert store.manifest["simulated"]["batches"] == [1, 2]
    (run,) = (run for run in prefect.runs("annotate") if run["id"] == annotate)
    assert run["tags"].count("simulated-annotators") == 1
    assert all(annotator.simulated for annotator in store.read_records("annotators.jsonl", Annotator))


def what_now_shown(stack: Stack, key: str) -> str:
    """Return the text *What now* on the newest run page of a run."""
    return str(stack.prefect.call("GET", f"/artifacts/{key}-what-now/latest").json()["data"])


def assert_every_step_was_done_once(stack: Stack, key: str, annotate: str, asked_before: int) -> None:
    questions = Counter(json.dumps(request.body, sort_keys=True) for request in stack.llm.questions[asked_before:])
    assert max(questions.values()) == 1, "a question was paid for twice"
    client = connect(stack.label_studio.url, stack.label_studio.token)
    pools = stack.run(key).read_records("candidates.jsonl", Pool)
    for batch in (1, 2):
        projects = batch_projects(client, key, batch)
        assert len(projects) == 2
        for project in projects:
            in_label_studio = sorted(task["data"]["task_key"] for task in client.tasks(project))
            assert in_label_studio == sorted(pool.key for pool in pools if pool.batch == batch)
    assert stack.prefect.tasks_named(annotate, "pull batch", 2) == ["pull batch-1", "pull batch-2"]


@pytest.mark.usefixtures("asked_before")
def test_a_second_bootstrap_of_the_same_run_repeats_nothing(stack: Stack) -> None:
    prefect = stack.prefect
    asked, annotations = len(stack.llm.questions), len(prefect.runs("annotate"))
    prefect.wait(prefect.start("bootstrap/bootstrap", {"run": KEY, **SMALL}), "Completed")
    assert len(stack.llm.questions) == asked
    assert len(prefect.runs("annotate")) == annotations


@pytest.mark.usefixtures("asked_before")
def test_new_data_becomes_an_annotation_batch_once(stack: Stack, tmp_path: Path) -> None:
    prefect = stack.prefect
    line = {
        "pair": "p1",
        "source": {
            "id": "a",
            "text": "The mayor opened the new bridge on Monday. It had cost nine million euros in all.",
        },
        "target": {
            "id": "b",
            "text": "On Monday the new bridge was opened. Many people came. It cost nine million euros.",
        },
    }
    drop = tmp_path / "drop.jsonl"
    drop.write_text(json.dumps(line) + "\n" + "{broken\n", encoding="utf-8")
    os.utime(drop, (0, 0))  # a recently changed file is left for later
    parameters = {"run": KEY, "source": str(tmp_path)}
    (tmp_path / "copy.jsonl").write_bytes(drop.read_bytes())
    os.utime(tmp_path / "copy.jsonl", (0, 0))
    first = prefect.start("drops/drops", parameters)
    prefect.wait(first, "Completed")
    (shown,) = [one["data"] for one in prefect.artifacts(first) if one["key"] == "drops"]
    assert [(row["file"], row["what"], row["pairs"]) for row in json.loads(shown)] == [
        ("copy.jsonl", "taken", 1),
        ("drop.jsonl", "duplicate", 0),
        ("copy.jsonl", "quarantine", 0),
    ]
    prefect.wait(prefect.start("drops/drops", parameters), "Completed")
    runs = [run["parameters"]["run"] for run in prefect.runs("annotate") if "drop" in run["parameters"]["run"]]
    assert len(runs) == 1
    pools = stack.run(runs[0]).read_records("candidates.jsonl", Pool)
    assert {(pool.pair, pool.batch) for pool in pools} == {("p1", 1)}
