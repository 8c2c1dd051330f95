"""Adjudication on real servers: two annotators disagree, a third person decides, one of the two changes their mind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack

import httpx
import pytest

from abcdlink.adjudicate import Adjudication, disputed
from abcdlink.corpus.io import write_corpus_to
from abcdlink.export.dataset import LabelledCandidate
from abcdlink.judgments import Annotator, Judgment, Label, Provenance
from abcdlink.layout import ADJUDICATIONS, ADJUDICATORS, ANNOTATORS, JUDGMENTS, NATURAL, POOLS, batch_slug
from abcdlink.stages.annotate import summary_of
from abcdlink.stages.intake import describe_run
from abcdlink.store import Store
from abcdlink.waiting import WaitsFor
from labelstudio_config.batches import pull_again
from labelstudio_config.client import Client, connect
from labelstudio_config.pages.adjudicate import adjudication_title
from labelstudio_config.pages.annotate import batch_title
from labelstudio_config.run import require_project
from tests.helpers.annotation import SECRETS, Run, annotator, make_run, submit
from tests.helpers.homes import configure
from tests.helpers.stack import Stack

LINK, NO = Label.LINK, Label.NO_LINK
ADA, BO = (LINK, LINK, NO), (LINK, NO, NO)
"""The two annotators' answers for each source's candidates: they disagree on the second."""


def tasks_of(client: Client, title: str) -> dict[str, int]:
    """Return source text -> id of its task."""
    return {task["data"]["source_text"]: task["id"] for task in client.tasks(require_project(client, title))}


def begin(stack: Stack, run: Run) -> Store:
    store = stack.run(run.key)
    describe_run(store, run.domain)
    write_corpus_to(store, NATURAL, run.corpus)
    store.write_records(POOLS, run.pools)
    return store


def bring_on(stack: Stack, run: str) -> str:
    """Start a run of ``adjudicate`` and wait until it is suspended."""
    flow_run = stack.prefect.start("adjudicate/adjudicate", {"run": run})
    stack.prefect.wait(flow_run, "Suspended")
    return flow_run


def decided(store: Store) -> Mapping[tuple[str, str], Label]:
    return {(one.source, one.target): one.label for one in store.read_records(ADJUDICATIONS, Adjudication)}


@pytest.fixture
def sessions() -> Iterator[ExitStack]:
    """Browser sessions of annotators, closed at the end of the test."""
    with ExitStack() as stack:
        yield stack


def change(session: httpx.Client, task: int, labels: tuple[Label, ...]) -> None:
    """Let the first annotator who answered a task change their answer."""
    first = min(session.get(f"/api/tasks/{task}/annotations").json(), key=lambda one: one["id"])
    result = first["result"]
    for one, label in zip(result, labels, strict=True):
        one["value"] = {"choices": [label]}
    session.patch(f"/api/annotations/{first['id']}", json={"result": result}).raise_for_status()


def test_a_third_person_decides_disputes_and_new_ones_are_asked_later(
    stack: Stack, sessions: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, prefect = make_run(tasks=2), stack.prefect
    store, client = begin(stack, run), connect(stack.label_studio.url, stack.label_studio.token)
    annotate = prefect.start(
        "annotate/annotate", {"run": run.key, "annotation": {"batches": 1, "overlap": 2, "shared_queue": True}}
    )
    stack.wait_until_waiting(annotate, run.key, WaitsFor.ANNOTATORS, batch_slug(1))
    batch = tasks_of(client, batch_title(run.key, 1))
    ada = sessions.enter_context(annotator(client))
    with annotator(client, "bo") as bo:
        for task in batch.values():
            submit(ada, task, ADA).raise_for_status()
            submit(bo, task, BO).raise_for_status()
    stack.bring_to_its_end(annotate)

    flow_run = bring_on(stack, run.key)
    title = adjudication_title(run.key)
    asked = tasks_of(client, title)
    assert set(asked) == set(batch)
    with annotator(client, "eve") as eve:
        seen = eve.get(f"/api/tasks?project={require_project(client, title)}&fields=all").text
        assert "One annotator" in seen
        assert not [secret for secret in (*SECRETS, "annotator-1", "annotator-2") if secret in seen]
        stack.look()
        assert prefect.state(flow_run) == "Suspended"
        for task, label in zip(asked.values(), (LINK, NO), strict=True):
            submit(eve, task, [label]).raise_for_status()
        stack.bring_to_its_end(flow_run)
        first, second = (pool.source for pool in run.pools)
        disputes = "sid-dugong-1"
        assert decided(store) == {(first, disputes): LINK, (second, disputes): NO}
        rows = store.read_records("dataset/links.jsonl", LabelledCandidate)
        labels = {(row.source, row.target): (row.link, row.provenance) for row in rows}
        assert labels[first, disputes] == (True, Provenance.ADJUDICATED)
        assert labels[second, disputes] == (False, Provenance.ADJUDICATED)
        assert {link for (_, target), (link, _) in labels.items() if target == "sid-dugong-0"} == {True}
        assert [one.account[:4] for one in store.read_records(ADJUDICATORS, Annotator)] == ["eve-"]
        assert len(store.read_records(ANNOTATORS, Annotator)) == 2
        assert "<h2>Adjudication</h2>" in store.read_text("report.html")

        # Ada no longer considers the first candidate a link; nothing else changes.
        change(ada, batch["The old bridge fell at noon."], (NO, LINK, NO))
        configure(
            monkeypatch,
            home=stack.home,
            label_studio_url=stack.label_studio.url,
            label_studio_token=stack.label_studio.token,
        )
        assert len(pull_again(store, 1).changes) == 1
        assert len(disputed(store.read_records(JUDGMENTS, Judgment), 2)) == 3
        again = bring_on(stack, run.key)
        there = client.tasks(require_project(client, title))
        assert len(there) == 3
        (new,) = (task for task in there if not task["annotations"])
        assert [one["text"] for one in new["data"]["candidates"]] == ["0 · The old bridge fell at noon."]
        submit(eve, new["id"], [LINK]).raise_for_status()
        stack.bring_to_its_end(again)
    assert decided(store) == {(first, disputes): LINK, (second, disputes): NO, (first, "sid-dugong-0"): LINK}
    total = summary_of(store).total
    assert (total.disputed, total.to_link, total.to_no_link, total.open) == (3, 2, 1, 0)
