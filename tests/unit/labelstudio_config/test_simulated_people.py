"""Simulated annotators in a feedback round and in adjudication, with Label Studio in memory."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

import labelstudio_config.simulate as simulation
from abcdlink.adjudicate import Adjudication
from abcdlink.corpus.io import read_corpus_from, write_corpus_to
from abcdlink.corpus.records import Corpus
from abcdlink.domain import find_domain
from abcdlink.feedback import SecondAnswer
from abcdlink.judgments import Label
from abcdlink.layout import ADJUDICATIONS, NATURAL, batch_file
from abcdlink.stages.annotate import pools_in, prepare_adjudication
from abcdlink.stages.feedback import ANSWERS, outcome_in, prepare_feedback
from abcdlink.store import Store, open_run
from abcdlink.waiting import people_progress
from labelstudio_config.attendance import reliefs_of, relieve
from labelstudio_config.batches import reassign
from labelstudio_config.pages.adjudicate import AdjudicationPage
from labelstudio_config.pages.annotate import LinkingPage
from labelstudio_config.pages.feedback import FeedbackPage
from labelstudio_config.projects import look_now
from labelstudio_config.simulate import simulate_adjudicator, simulate_feedback, simulated_account
from tasks.projects import look_at_people, pull, push
from tests.helpers.example_run import example_run
from tests.helpers.fake_label_studio import FakeLabelStudio, serve


class Connection:
    """One account's connection: offers each task once, and takes what is submitted."""

    def __init__(self, server: FakeLabelStudio, user: int) -> None:
        self.server, self.user = server, user

    def close(self) -> None:
        """Nothing is open."""

    def post(self, address: str, json: dict[str, Any]) -> httpx.Response:
        request = httpx.Request("POST", f"http://127.0.0.1:1{address}")
        if "next_task" in address:
            (project,) = re.findall(r"project=(\d+)", address)
            open_ones = [task for task in self.server.held[int(project)] if not self.answered(task)]
            found = (200, open_ones[0]) if open_ones else (404, {})
            return httpx.Response(found[0], json=found[1], request=request)
        (number,) = re.findall(r"/api/tasks/(\d+)/", address)
        (task,) = (task for task in self.server.all_tasks() if task["id"] == int(number))
        who = {"completed_by": self.user, "updated_by": self.user, "updated_at": "2026-01-02T00:00:00Z"}
        task["annotations"].append({"id": next(self.server.ids), "was_cancelled": False, **who, **json})
        return httpx.Response(201, json={}, request=request)

    def answered(self, task: dict[str, Any]) -> bool:
        return any(one["completed_by"] == self.user for one in task["annotations"])


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> FakeLabelStudio:
    fake = serve(monkeypatch)
    fake.people = {number: simulated_account(number) for number in (1, 2, 3)}
    users = {account: user for user, account in fake.people.items()}
    monkeypatch.setattr(simulation, "_enter", lambda _client, _token, account: Connection(fake, users[account]))
    return fake


@pytest.fixture
def run(isolated_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A run that two simulated annotators have judged, and whose natural pairs have gold links."""
    monkeypatch.setenv("ABCDLINK_RUNS", str(tmp_path / "runs"))
    store = example_run(tmp_path / "runs")
    accounts = [f'{{"annotator":"annotator-{n}","account":"{simulated_account(n)}","simulated":true}}' for n in (1, 2)]
    store.write_text("annotators.jsonl", "\n".join(accounts) + "\n")
    corpus = read_corpus_from(store, NATURAL)
    pairs = [pair.model_copy(update={"links": {"0": ("1", "7"), "4": ("2",)}}) for pair in corpus.pairs]
    write_corpus_to(store, NATURAL, Corpus(name="n", documents=dict(corpus.documents), pairs=pairs))
    store.note("domain", {"name": "news"})
    return open_run(store.key)


def gold(run: Store, pair: str, source: str, target: str) -> bool:
    (found,) = (one for one in read_corpus_from(run, NATURAL).pairs if one.id == pair)
    return target in (found.links or {}).get(source, ())


def test_simulated_annotators_answer_every_case_and_acknowledge_the_guidelines(
    run: Store, server: FakeLabelStudio
) -> None:
    push.fn(run.key, "news", FeedbackPage(batch=1, clarifications="Look twice."))
    cases = prepare_feedback(run, 1).cases
    assert simulate_feedback(run, server, "token", 1) == 2 * (len(cases) + 1)
    look_now(run, "feedback-1")
    pull.fn(run.key, FeedbackPage(batch=1, clarifications="Look twice."))
    outcome = outcome_in(run, 1)
    assert outcome is not None
    assert (outcome.missing, outcome.answered) == ((), outcome.cases)
    assert outcome.resolved > 0
    answers = run.read_records(batch_file(1, ANSWERS), SecondAnswer)
    right = [(one.label is Label.LINK) == gold(run, one.pair, one.source, one.target) for one in answers]
    assert sum(right) / len(right) > 0.7
    assert simulate_feedback(run, server, "token", 1) == 0, "no task is answered twice"


def test_someone_who_left_is_not_waited_for_in_feedback_or_later_batches_until_they_take_over(run: Store) -> None:
    page, (first, second) = FeedbackPage(batch=1), map(simulated_account, (1, 2))
    assert page.ask(run, find_domain("news")).project.overlap == 2
    relieve(run, "batch-1", second, to="")
    assert page.ask(run, find_domain("news")).project.overlap == 1
    assert [list(reliefs_of(run, slug)) for slug in (page.slug, "batch-2", "ratings")] == [[second], [second], []]
    relieve(run, "batch-2", first, to=second)
    assert [list(reliefs_of(run, slug)) for slug in ("batch-1", "batch-2")] == [[second], [first]]


def test_a_running_round_does_not_wait_for_someone_who_was_relieved(run: Store, server: FakeLabelStudio) -> None:
    push.fn(run.key, "news", LinkingPage(batch=1, overlap=2))
    page, (first, second) = FeedbackPage(batch=1), (1, 2)
    keys = push.fn(run.key, "news", page).task_keys
    server.answer(keys[0], second, skipped=True)
    for key in keys[1:]:
        server.answer(key, first, skipped=True)
    assert not look_at_people(run, page.slug, logging.getLogger()).complete
    said = reassign(run, 1, simulated_account(second))
    assert said[-1] == f"the feedback round after batch 1 now waits for {simulated_account(first)}"
    assert look_at_people(run, page.slug, logging.getLogger()).done == len(keys) - 1
    progress = people_progress(run, page.slug)
    assert progress is not None
    assert [(one.account, one.open) for one in progress.people] == [(simulated_account(first), 1)]
    assert (progress.answers, progress.needed) == (len(keys), len(keys) + 1)
    server.answer(keys[0], first, skipped=True)
    assert look_at_people(run, page.slug, logging.getLogger()).complete


def test_a_simulated_adjudicator_decides_every_dispute_by_the_gold_links(run: Store, server: FakeLabelStudio) -> None:
    prepare_adjudication(run)
    push.fn(run.key, "news", AdjudicationPage())
    assert simulate_adjudicator(run, server, "token") == len(pools_in(run)) > 0
    look_now(run, AdjudicationPage().slug)
    pull.fn(run.key, AdjudicationPage())
    decided = run.read_records(ADJUDICATIONS, Adjudication)
    assert len(decided) == sum(len(pool.candidates) for pool in pools_in(run))
    assert all((one.label is Label.LINK) == gold(run, one.pair, one.source, one.target) for one in decided)
