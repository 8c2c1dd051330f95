"""The benchmark flow under each runner, by a real Prefect server and worker: one result, and nothing done twice."""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import psutil
import pytest

from abcdlink.corpus.io import read_corpus_from, write_corpus, write_corpus_to
from abcdlink.corpus.records import Corpus, Document, Pair, PairKind, Sentence
from abcdlink.domain import find_domain
from abcdlink.errors import InputError
from abcdlink.layout import labels_file, rank_plan_file
from abcdlink.retrieval import get_retriever, rank_corpus
from abcdlink.settings import Settings, get_settings
from abcdlink.stages.benchmark import read_benchmark
from abcdlink.stages.intake import describe_run
from abcdlink.stages.label import plan_labels
from abcdlink.stages.rank import RankPlan, read_rankings
from abcdlink.store import Store, open_run
from tasks.running import task_runner, worker_count
from tests import ROOT
from tests.helpers.example_run import FACTS
from tests.helpers.fake_llm import MODEL, FakeLLM, Request, Response, says
from tests.helpers.labels import made, run_with_linker
from tests.helpers.plugin import install_plugin
from tests.helpers.prefect_server import PrefectServer, prefect_server
from tests.helpers.waiting import WAIT, until

RETRIEVERS = ["bm25", "all-minilm-l6-v2"]
PAIRS = 24
"""Enough parts of one pair that a process can be killed in the middle of them."""


def answer(request: Request) -> Response:
    return says(json.dumps({name: len(name) % 2 == 0 for name in request.schema["properties"]}))


def synthetic(pairs: int) -> Corpus:
    chooser, documents, made = random.Random(pairs), {}, []
    for number in range(pairs):
        for side in "ab":
            texts = (f"{chooser.choice(FACTS)} Item {chooser.randrange(99)}." for _ in range(6))
            sentences = tuple(Sentence(id=str(n), text=text) for n, text in enumerate(texts))
            documents[f"{number}{side}"] = Document(id=f"{number}{side}", sentences=sentences)
        links = {"0": ("1", "3"), "2": ("2",)}
        pair = Pair(id=f"p{number}", source=f"{number}a", target=f"{number}b", kind=PairKind.SYNTHETIC, links=links)
        made.append(pair)
    return Corpus(name="synthetic", documents=documents, pairs=made)


def begin(root: Path, key: str, pairs: int, pairs_per_part: int) -> Store:
    """Begin a run whose synthetic corpus is there, and whose rankings are planned in small parts."""
    store, corpus = open_run(key, str(root)), synthetic(pairs)
    describe_run(store, find_domain("news"))
    write_corpus_to(store, "synthetic", corpus)
    ids = [pair.id for pair in corpus.pairs]
    parts = tuple(tuple(ids[start : start + pairs_per_part]) for start in range(0, pairs, pairs_per_part))
    sentences = len({text for document in corpus.documents.values() for text in document.texts})
    for retriever in RETRIEVERS:
        warm = 20 if retriever == "all-minilm-l6-v2" else None
        plan = RankPlan(sentences_per_part=warm, sentences=sentences, parts=parts)
        store.write_text(rank_plan_file("synthetic", retriever), plan.model_dump_json())
    return store


@dataclass
class Flows:
    """A server, and the folder that runs lie in."""

    prefect: PrefectServer
    root: Path

    def benchmark(self, key: str, runner: str, retrievers: list[str], workers: int = 2) -> str:
        """Start the flow with a cache of its own: each runner embeds by itself."""
        parameters = {"run": key, "benchmark": {"retrievers": retrievers, "learned": [], "cutoffs": [1, 3]}}
        environment = {
            "ABCDLINK_HOME": str(self.root.parent / f"home-{key}"),
            "ABCDLINK_RUNNER": runner,
            "ABCDLINK_RUNNER_WORKERS": str(workers),
        }
        return self.prefect.start("benchmark/benchmark", parameters, environment)


@pytest.fixture(scope="module")
def flows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flows]:
    root = tmp_path_factory.mktemp("runners") / "runs"
    with FakeLLM(answer) as llm:
        environment = {
            "ABCDLINK_RUNS": str(root),
            "ABCDLINK_LLM_BASE_URL": llm.base_url,
            "ABCDLINK_LLM_MODEL": MODEL,
        }
        with prefect_server(tmp_path_factory.mktemp("prefect"), environment) as prefect:
            yield Flows(prefect, root)


@pytest.mark.parametrize("runner", ["threads", "process", "dask"])
def test_every_runner_gives_the_same_benchmark(flows: Flows, runner: str) -> None:
    store = begin(flows.root, runner, pairs=4, pairs_per_part=2)
    flow_run = flows.benchmark(runner, runner, RETRIEVERS)
    flows.prefect.wait(flow_run, "Completed")
    corpus = read_corpus_from(store, "synthetic")
    for retriever in RETRIEVERS:
        expected = rank_corpus(corpus, get_retriever(retriever))
        ranked = read_rankings(store, "synthetic", retriever).table
        pd.testing.assert_frame_equal(ranked, expected, rtol=0, atol=1e-6)
    names = [run["name"] for run in flows.prefect.task_runs(flow_run)]
    assert sum(name.startswith("rank synthetic") for name in names) == 4
    assert sum(name.startswith("prepare all-minilm-l6-v2") for name in names) == 3
    progress = {a["description"]: a["data"] for a in flows.prefect.artifacts(flow_run) if a["type"] == "progress"}
    assert progress["rank synthetic with bm25: 2 of 2"] == 100
    assert progress["rank synthetic with all-minilm-l6-v2: 5 of 5"] == 100


@pytest.mark.parametrize("runner", ["threads", "process"])
def test_a_corpus_is_labelled_in_parts_and_again_only_what_is_missing(
    flows: Flows, runner: str, tmp_path: Path
) -> None:
    folder, run = str(tmp_path / "archive"), f"label-{runner}"
    write_corpus(made("archive", 2500, seed=2), folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ABCDLINK_RUNS", str(flows.root))
        get_settings.cache_clear()
        store = run_with_linker(run)
    cells = 20_000
    planned = plan_labels(store, folder, "archive", cells=cells)
    environment = {
        "ABCDLINK_HOME": str(flows.root.parent / f"home-{run}"),
        "ABCDLINK_RUNNER": runner,
        "PYTHONPATH": str(ROOT),
    }
    parameters = {"run": run, "corpus": folder, "labels": {"precision": 0.8}}
    flow_run = flows.prefect.start("label/label", parameters, environment)
    flows.prefect.wait(flow_run, "Completed")
    names = [one["name"] for one in flows.prefect.task_runs(flow_run)]
    assert sorted(name for name in names if name.startswith("label archive")) == [
        f"label archive, part {part}" for part in range(3)
    ]
    assert planned.summary(0.8).pairs == 2500
    store.folder.remove(labels_file("archive", "part-00001.json"))
    again = flows.prefect.start("label/label", parameters, environment)
    flows.prefect.wait(again, "Completed")
    names = [one["name"] for one in flows.prefect.task_runs(again)]
    assert [name for name in names if name.startswith("label archive")] == ["label archive, part 1"]


def test_a_plugin_is_benchmarked_by_name(flows: Flows, tmp_path: Path) -> None:
    store = begin(flows.root, "plugin", pairs=6, pairs_per_part=2)
    benchmark = {
        "retrievers": ["bm25"],
        "more_retrievers": ["shared-words"],
        "learned": ["scaled"],
        "cutoffs": [1],
        "rules": [],
        "llm": {"use": False},
    }
    environment = {"PYTHONPATH": str(install_plugin(tmp_path)), "ABCDLINK_HOME": str(tmp_path / "home")}
    parameters = {"run": "plugin", "benchmark": benchmark}
    flows.prefect.wait(flows.prefect.start("benchmark/benchmark", parameters, environment), "Completed")
    assert {result.approach.name for result in read_benchmark(store).approaches} == {
        "bm25@1",
        "shared-words@1",
        "scaled@1",
    }


def test_after_a_kill_finished_parts_are_not_ranked_again(flows: Flows) -> None:
    store = begin(flows.root, "killed", pairs=PAIRS, pairs_per_part=1)

    def parts() -> dict[str, int]:
        folder = Path(store.where()) / "rankings/synthetic/bm25"
        return {path.name: path.stat().st_mtime_ns for path in folder.glob("part-*.parquet")}

    def run_until_killed(choose: Callable[[psutil.Process, list[psutil.Process]], psutil.Process], state: str) -> None:
        """Start the flow, kill a process of it after some parts, and see that all of them are gone."""
        before = len(parts())
        # A run is completed some moments before its process ends.
        _, earlier = psutil.wait_procs(psutil.Process(flows.prefect.worker.pid).children(), timeout=WAIT)
        assert not earlier
        flow_run = flows.benchmark("killed", "process", ["bm25"])
        until(lambda: len(parts()) >= before + 3, "three more parts", poll=0.02)
        (flow,) = psutil.Process(flows.prefect.worker.pid).children()
        pool = [process for process in flow.children() if "spawn_main" in " ".join(process.cmdline())]
        choose(flow, pool).kill()
        flows.prefect.wait(flow_run, state)
        _, left = psutil.wait_procs(pool, timeout=WAIT)
        assert not left, "processes of a killed flow are left"

    run_until_killed(lambda _flow, pool: pool[0], "Failed")
    after_first = parts()
    run_until_killed(lambda flow, _pool: flow, "Crashed")
    after_second = parts()
    assert 3 <= len(after_first) < len(after_second) < PAIRS
    flows.prefect.wait(flows.benchmark("killed", "process", ["bm25"]), "Completed")
    finished = parts()
    assert len(finished) == PAIRS
    assert {name: finished[name] for name in after_second} == after_second
    assert {name: finished[name] for name in after_first} == after_first


@pytest.mark.parametrize("extra", ["dask", "ray"])
def test_a_runner_whose_extra_is_missing_says_what_to_install(monkeypatch: pytest.MonkeyPatch, extra: str) -> None:
    monkeypatch.setenv("ABCDLINK_RUNNER", extra)
    monkeypatch.setitem(sys.modules, f"prefect_{extra}", None)
    with pytest.raises(InputError, match=f"no module prefect_{extra}") as missing:
        task_runner()
    assert f"pip install 'abcdlink[{extra}]'" in missing.value.hint


def test_an_address_without_a_cluster_that_it_could_be_of_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABCDLINK_RUNNER", "process")
    monkeypatch.setenv("ABCDLINK_RUNNER_ADDRESS", "tcp://10.0.0.7:8786")
    with pytest.raises(InputError, match="ABCDLINK_RUNNER_ADDRESS"):
        task_runner()
    monkeypatch.setenv("ABCDLINK_RUNNER", "dask")
    get_settings.cache_clear()
    assert task_runner().address == "tcp://10.0.0.7:8786"


def test_a_dask_cluster_of_this_machine_lets_no_outsider_in(monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import Client, LocalCluster

    monkeypatch.setenv("ABCDLINK_RUNNER", "dask")
    get_settings.cache_clear()
    with LocalCluster(**task_runner().cluster_kwargs | {"n_workers": 1}) as cluster:
        with Client(cluster) as ours:
            assert ours.submit(sum, [1, 2]).result() == 3
        outside = cluster.scheduler_address.replace("tls://", "tcp://")
        with pytest.raises(OSError, match=r"Timed out|closed"):
            Client(outside, timeout=3)


def test_processes_share_the_cores_and_threads_are_one_unless_the_settings_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(8)), raising=False)
    assert worker_count(Settings(runner="threads")) == 1
    assert worker_count(Settings(runner="process")) == 8
    assert worker_count(Settings(runner="dask", threads=3)) == 2
    assert worker_count(Settings(runner="ray", threads=16)) == 1
    assert worker_count(Settings(runner="threads", runner_workers=5)) == 5
