"""Coding on real servers: two coders, each in their own project; the flow ends with patterns by method."""

from __future__ import annotations

import json

import httpx

from abcdlink.coding import CodingSummary
from abcdlink.corpus.io import write_corpus_to
from abcdlink.errors import InputError
from abcdlink.judgments import Annotator
from abcdlink.layout import CODERS, CODES, CODING_SLUG, JUDGMENTS, NATURAL, POOLS, batch_file
from abcdlink.stages.coding import coding_of, coding_summary
from abcdlink.stages.intake import describe_run
from abcdlink.store import Store
from labelstudio_config.client import Client, connect
from labelstudio_config.run import read_pushed
from tests.helpers.annotation import METHODS, SECRETS, Run, annotator, choose, make_run
from tests.helpers.builders import judgment
from tests.helpers.stack import Stack

PATTERNS = ["near: much alike", "far", "other"]


def begin(stack: Stack, run: Run) -> Store:
    """Make a run in which both annotators reject the first candidate and accept the two others."""
    store = stack.run(run.key)
    describe_run(store, run.domain)
    write_corpus_to(store, NATURAL, run.corpus)
    store.write_records(POOLS, run.pools)
    judgments = [
        judgment((pool.pair, pool.source, candidate.target), who, number, batch=pool.batch, method=candidate.method)
        for pool in run.pools
        for number, candidate in enumerate(pool.candidates)
        for who in (1, 2)
    ]
    store.write_records(batch_file(1, JUDGMENTS), judgments)
    return store


def code(session: httpx.Client, client: Client, project: int, patterns: dict[str, str]) -> None:
    """Submit a pattern for each task of a project."""
    for task in client.tasks(project):
        said = patterns[task["data"]["wrong"].split()[0]]
        (chosen,) = (one["value"] for one in task["data"]["patterns"] if said in one["html"])
        choose(session, task["id"], ("pattern", "cand", [chosen])).raise_for_status()


def test_two_coders_work_separately_and_the_flow_ends_with_patterns_by_method(stack: Stack) -> None:
    run, prefect = make_run(tasks=2), stack.prefect
    store = begin(stack, run)
    parameters = {"run": run.key, "coding": {"patterns": PATTERNS, "most": 50}}
    flow_run = prefect.start("coding/coding", parameters)
    prefect.wait(flow_run, "Suspended")
    client = connect(stack.label_studio.url, stack.label_studio.token)
    pushed = read_pushed(store, CODING_SLUG)
    first, second = (one.project_id for one in pushed.projects)
    # One rejected by both: an error of the first method. Two links: each missed by the two other methods.
    assert len(pushed.task_keys) == 6
    assert len({*METHODS} & {name for one in coding_of(store).errors for name in one.methods}) == 3

    with annotator(client, "eve") as eve, annotator(client, "fay") as fay:
        seen = eve.get(f"/api/tasks?project={first}&fields=all").text
        assert "a program proposed this sentence" in seen
        assert not [secret for secret in (*SECRETS, "annotator-1") if secret in seen]
        code(eve, client, first, {"Wrong": "near", "Missed": "far"})
        stack.look()
        assert prefect.state(flow_run) == "Suspended"
        so_far = json.loads(stack.command("coding", "show", run.key, "--json"))
        assert (so_far["coded"], so_far["incomplete"], so_far["coders"]) == (0, 6, ["coder-1"])
        assert not store.exists(CODES)
        code(fay, client, second, {"Wrong": "near", "Missed": "other"})
        stack.bring_to_its_end(flow_run)

    summary = coding_summary(store)
    assert (summary.found, summary.coded, summary.incomplete, summary.coders) == (6, 6, 0, ("coder-1", "coder-2"))
    assert [one.account[:4] for one in store.read_records(CODERS, Annotator)] == ["eve-", "fay-"]
    rows = {(row.method, row.kind.value): row for row in summary.rows}
    assert rows[METHODS[0], "false link"].agreed == {"near": 2, "far": 0, "other": 0}
    missed = rows[METHODS[0], "missed link"]
    assert (missed.errors, missed.shares) == (4, {"near": 0, "far": 0.5, "other": 0.5})
    assert summary.observed is not None
    assert abs(summary.observed - 2 / 6) < 1e-9
    assert "Patterns of wrong predictions" in store.read_text("report.html")
    assert any("patterns" in (artifact["key"] or "") for artifact in prefect.artifacts(flow_run))

    # Started again, it asks nobody and ends with the same result.
    codes = store.read_text(CODES)
    again = prefect.start("coding/coding", parameters)
    prefect.wait(again, "Completed")
    assert store.read_text(CODES) == codes
    assert CodingSummary.model_validate(summary.model_dump()) == coding_summary(store)
    other = prefect.start("coding/coding", {**parameters, "coding": {"most": 3}})
    prefect.wait(other, "Failed")
    assert InputError.__name__ not in store.read_text("report.html")
