"""Exhaustive judging on real servers: pushed once, nothing leaked, everything judged, the flow ends by itself."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from abcdlink.corpus.io import write_corpus_to
from abcdlink.domain import find_domain
from abcdlink.evaluation.shortlist import Shortlist
from abcdlink.exhaustive import Over, Recall, View
from abcdlink.judgments import Judgment, Label
from abcdlink.layout import ANOMALIES, EXHAUSTIVE_JUDGMENTS, EXHAUSTIVE_SLUG, JUDGMENTS, NATURAL, RECALL, SHORTLIST
from abcdlink.linking.records import Approach, ApproachKind
from abcdlink.source_sample import SampledSource
from abcdlink.stages.exhaustive import read_sample
from abcdlink.stages.rank import rank
from abcdlink.store import Store
from abcdlink.whatnow import what_now
from labelstudio_config.client import Client, connect
from labelstudio_config.pages import title_of
from labelstudio_config.run import require_project
from tests.helpers.annotation import SECRETS, annotator, make_run, tick
from tests.helpers.stack import Stack

TICKS = {"sid-dugong-0": ["sid-dugong-0", "sid-dugong-3"], "sid-dugong-1": ["sid-dugong-1"]}
"""Source -> the targets that both annotators tick; none for the others."""


def work_through(session: httpx.Client, ids: dict[str, int], sources: Sequence[SampledSource]) -> None:
    """Answer each task as a person would."""
    for source in sources:
        tick(session, ids[source.key], source.key, TICKS.get(source.source, []))


def two_people_judge(client: Client, project: int, sources: Sequence[SampledSource]) -> None:
    """Let two new accounts judge all tasks at the same time."""
    ids = {task["data"]["task_key"]: task["id"] for task in client.tasks(project)}
    with annotator(client) as ada, annotator(client, "bo") as bo, ThreadPoolExecutor(2) as people:
        list(people.map(lambda session: work_through(session, ids, sources), (ada, bo)))


def begin(stack: Stack, key: str, judging: dict[str, Any]) -> tuple[Store, str, Client, list[SampledSource]]:
    """Start the flow on a run with rankings of one approach; returns when it waits for people."""
    store, domain = stack.run(key), find_domain("news")
    write_corpus_to(store, NATURAL, make_run(tasks=8).corpus)
    store.note("domain", {"name": domain.name, "folder": str(domain.folder)})
    approach = Approach(kind=ApproachKind.RETRIEVER, retriever="jaccard", cutoff=1)
    store.write_text(SHORTLIST, Shortlist(first=approach, reasons=()).model_dump_json())
    rank(store, NATURAL, approach.retriever)
    started = stack.prefect.start("exhaustive/exhaustive", {"run": key, "judging": judging})
    stack.prefect.wait(started, "Suspended")
    client = connect(stack.label_studio.url, stack.label_studio.token)
    return store, started, client, list(read_sample(store).sources)


def test_the_flow_waits_for_people_and_ends_with_true_recall(stack: Stack) -> None:
    key, prefect = "exhaustive-run", stack.prefect
    store, started, client, sources = begin(stack, key, {"share": 1})
    stack.look()
    assert prefect.state(started) == "Suspended"
    project = require_project(client, title_of(key, "exhaustive"))
    with annotator(client) as session:
        seen = session.get(f"/api/tasks?project={project}&fields=all").text
        seen += session.get(f"/api/projects/{project}").text
    assert "The old bridge fell at noon." in seen
    assert not [secret for secret in SECRETS if secret in seen]
    two_people_judge(client, project, sources)
    stack.bring_to_its_end(started)

    judgments = store.read_records(EXHAUSTIVE_JUDGMENTS, Judgment)
    assert len(judgments) == 2 * 4 * len(sources)
    for source in sources:
        for who in ("annotator-1", "annotator-2"):
            mine = [j for j in judgments if (j.pair, j.source, j.annotator) == (*source.at, who)]
            assert [j.target for j in mine if j.label is Label.LINK] == TICKS.get(source.source, [])
    assert store.read_json(f"{EXHAUSTIVE_SLUG}/{ANOMALIES}") == []
    assert not store.exists(JUDGMENTS)
    recall = Recall.model_validate_json(store.read_text(RECALL))
    linked = [source for source in sources if source.source in TICKS]
    assert (recall.with_gold, recall.without_gold) == (len(linked), len(sources) - len(linked))
    (full,) = [row for row in recall.rows if row.view is View.FULL]
    # Jaccard's best target is the same sentence: one of two links, or the one link.
    wanted = [1 / len(TICKS[source.source]) for source in linked]
    assert full.over is Over.GOLD
    assert full.recall is not None
    assert full.recall.mean == pytest.approx(sum(wanted) / len(wanted))
    assert "<h2>True recall</h2>" in store.read_text("report.html")
    assert any("recall" in (artifact["key"] or "") for artifact in prefect.artifacts(started))


def test_the_flow_ends_by_itself_when_everyone_has_found_enough_links(stack: Stack) -> None:
    key, prefect = "exhaustive-links", stack.prefect
    store, started, client, sources = begin(stack, key, {"links": 3})
    project = require_project(client, title_of(key, "exhaustive"))
    ids = {task["data"]["task_key"]: task["id"] for task in client.tasks(project)}
    # In random order: the sources up to the one that completes three links.
    found, enough = 0, 0
    while found < 3:
        found += len(TICKS.get(sources[enough].source, []))
        enough += 1
    assert enough < len(sources)
    with annotator(client) as ada, annotator(client, "bo") as bo:
        work_through(ada, ids, sources)
        stack.look()
        assert prefect.state(started) == "Suspended", "links found by one person alone are not enough"
        assert "0 of 3 wanted links found" in " ".join(what_now(store).plain())
        work_through(bo, ids, sources[:enough])
        stack.bring_to_its_end(started)
    recall = Recall.model_validate_json(store.read_text(RECALL))
    assert (recall.links, recall.incomplete) == (found, len(sources) - enough)
    assert recall.hours == pytest.approx((len(sources) + enough) / 60)
    assert any(f"people judged {enough} of {len(sources)}" in note for note in recall.notes)
