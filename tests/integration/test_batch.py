"""An LLM that flows query by batch, and one whose budget runs out, on a real Prefect server and worker."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from abcdlink.corpus.io import write_corpus_to
from abcdlink.domain import find_domain
from abcdlink.linking.records import ApproachKind
from abcdlink.stages.benchmark import read_benchmark
from abcdlink.stages.intake import describe_run
from abcdlink.store import Store
from tests.helpers.fake_batch import FakeBatch
from tests.helpers.fake_llm import Request, Response, says
from tests.helpers.prefect_server import PrefectServer
from tests.helpers.stack import Stack
from tests.helpers.synthetic import synthetic
from tests.helpers.waiting import until

SMALL = {"retrievers": ["bm25"], "learned": [], "rules": [], "cutoffs": [1, 3]}
PRICES = {"ABCDLINK_LLM_PRICE_PROMPT": "1", "ABCDLINK_LLM_PRICE_COMPLETION": "1"}


def answer(request: Request) -> Response:
    """Write a sentence unique to the question, or judge candidates by a fixed rule."""
    properties = request.schema["properties"]
    if all(kind.get("type") == "boolean" for kind in properties.values()):
        return says(
            json.dumps({name: int(name) % 2 == 0 if name.isdecimal() else True for name in properties}),
            tokens=(1000, 100),
        )
    number = sum(request.prompt.encode()) + len(request.prompt)
    sentence = f"Officials said on day {number} that the new bridge stays closed."
    return says(json.dumps({next(iter(properties)): sentence}))


@dataclass
class Flows:
    """The servers, and an LLM with a Batch API whose answers no other test has cached."""

    stack: Stack
    llm: FakeBatch
    home: Path

    @property
    def prefect(self) -> PrefectServer:
        return self.stack.prefect

    def begin(self, key: str, pairs: int) -> Store:
        """Begin a run that has its synthetic corpus; the number of pairs determines the corpus."""
        store = self.stack.run(key)
        describe_run(store, find_domain("news"))
        write_corpus_to(store, "synthetic", synthetic(pairs))
        return store

    def start(self, deployment: str, parameters: dict[str, Any], settings: Mapping[str, str] | None = None) -> str:
        """Start a run that asks this LLM, by batch unless the settings say otherwise."""
        environment = {
            "ABCDLINK_HOME": str(self.home),
            "ABCDLINK_RUNS": str(self.stack.home / "runs"),
            "ABCDLINK_LLM_BASE_URL": self.llm.base_url,
            "ABCDLINK_LLM_BATCH": "true",
        }
        return self.prefect.start(deployment, parameters, {**environment, **(settings or {})})

    def reconcile(self) -> None:
        self.prefect.wait(self.start("reconcile/reconcile", {}), "Completed")

    def shown(self, flow_run: str) -> list[str]:
        """Return the texts on a run page without its tables and pictures."""
        return [str(a["data"]) for a in self.prefect.artifacts(flow_run) if a["type"] == "markdown"]


@pytest.fixture(scope="module")
def flows(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flows]:
    with FakeBatch(answer) as llm:
        yield Flows(stack, llm, tmp_path_factory.mktemp("batch"))


def asked_by_batch(llm: FakeBatch, job: str) -> Counter[str]:
    lines = llm.files[llm.jobs[job]["input_file_id"]].splitlines()
    return Counter(json.dumps(json.loads(line)["body"], sort_keys=True) for line in lines)


def asked_live(llm: FakeBatch) -> Counter[str]:
    return Counter(json.dumps(request.body, sort_keys=True) for request in llm.questions)


def test_a_benchmark_waits_for_its_batch_and_asks_each_question_once(flows: Flows) -> None:
    store, llm, prefect = flows.begin("batched", 4), flows.llm, flows.prefect
    parameters = {"run": "batched", "benchmark": SMALL}
    flow_run = flows.start("benchmark/benchmark", parameters, PRICES)
    prefect.wait(flow_run, "Suspended")
    (job,) = llm.jobs
    sent = asked_by_batch(llm, job)
    assert sent.total() == len(sent) == 4 * 6
    assert any(f"| {len(sent)} | 0 |" in text and "half of that" in text for text in flows.shown(flow_run))
    flows.reconcile()
    assert prefect.state(flow_run) == "Suspended"
    llm.end()
    flows.reconcile()
    prefect.wait(flow_run, "Completed")
    assert list(llm.jobs) == [job]
    assert llm.questions == []
    (with_llm,) = (one for one in read_benchmark(store).approaches if one.approach.kind is ApproachKind.LLM)
    assert with_llm.answered == with_llm.sources
    assert "24 answered" in flows.shown(flow_run)


def test_a_bootstrap_waits_for_each_batch_and_asks_again_what_an_expired_one_left_open(flows: Flows) -> None:
    llm, prefect = flows.llm, flows.prefect
    parameters: dict[str, Any] = {"run": "whole", "generation": {"documents": 2}, "benchmark": SMALL, "pairs": 2}
    flow_run = flows.start("bootstrap/bootstrap", parameters)
    prefect.wait(flow_run, "Suspended")
    generating, before = asked_live(llm), set(llm.jobs)
    on_synthetic = max(llm.jobs)
    llm.end("expired", answered=1)
    flows.reconcile()
    until(lambda: set(llm.jobs) != before, "another job")
    prefect.wait(flow_run, "Suspended")
    left_open = asked_live(llm) - generating
    sent = asked_by_batch(llm, on_synthetic)
    assert left_open.total() == sent.total() - 1
    assert not left_open - sent
    (on_natural,) = set(llm.jobs) - before
    llm.end()
    flows.reconcile()
    prefect.wait(flow_run, "Completed")
    assert asked_live(llm) == generating + left_open
    assert not asked_by_batch(llm, on_natural) & asked_live(llm)
    told = flows.shown(flow_run)
    assert any("1 answered" in text and "batch_expired" in text and "one by one" in text for text in told)


def test_an_exhausted_budget_fails_the_run_once_with_one_line(flows: Flows) -> None:
    store, llm, prefect = flows.begin("poor", 5), flows.llm, flows.prefect
    log = flows.prefect.folder / "worker.log"
    before, log_before = asked_live(llm), len(log.read_text(errors="replace"))
    little = {"ABCDLINK_LLM_BATCH": "false", "ABCDLINK_LLM_BUDGET_TOKENS": "12000"}
    parameters = {"run": "poor", "benchmark": SMALL}
    flow_run = flows.start("benchmark/benchmark", parameters, little)
    prefect.wait(flow_run, "Failed")
    (run,) = (run for run in prefect.runs("benchmark") if run["id"] == flow_run)
    assert "could exceed the budget" in run["state"]["message"]
    assert "raise ABCDLINK_LLM_BUDGET_TOKENS and run this again" in run["state"]["message"]

    def failed() -> list[dict[str, Any]]:
        tasks = prefect.task_runs(flow_run)
        return [task for task in tasks if "llm" in task["name"] and task["state_name"] == "Failed"]

    decided = until(failed, "a task that failed")  # which Prefect records a moment later
    assert {task["run_count"] for task in decided} == {1}
    assert "Traceback" not in log.read_text(errors="replace")[log_before:]
    flow_run = flows.start("benchmark/benchmark", parameters, {**little, "ABCDLINK_LLM_BUDGET_TOKENS": "90000"})
    prefect.wait(flow_run, "Completed")
    assert set((asked_live(llm) - before).values()) == {1}
    assert read_benchmark(store).pairs == 5
