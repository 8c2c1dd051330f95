"""The benchmark flow with each runner, on a real Prefect server and worker: one result, and nothing done twice."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import psutil
import pytest

from abcdlink.corpus.io import read_corpus_from, write_corpus, write_corpus_to
from abcdlink.domain import find_domain
from abcdlink.errors import InputError
from abcdlink.layout import labels_file, rank_plan_file
from abcdlink.retrieval import get_retriever, rank_corpus
from abcdlink.settings import Settings
from abcdlink.stages.benchmark import read_benchmark
from abcdlink.stages.intake import describe_run
from abcdlink.stages.label import plan_labels
from abcdlink.stages.rank import RankPlan, read_rankings
from abcdlink.store import Store
from tasks.running import task_runner, worker_count
from tests import ROOT
from tests.helpers.homes import configure
from tests.helpers.labels import made, run_with_linker
from tests.helpers.plugin import install_plugin
from tests.helpers.stack import Stack
from tests.helpers.synthetic import synthetic
from tests.helpers.waiting import WAIT, until

PAIRS = 24
"""Enough parts of one pair to kill a process in the middle."""
MINILM = "all-minilm-l6-v2"


def begin(stack: Stack, key: str, pairs: int, pairs_per_part: int, retrievers: Sequence[str] = ("bm25",)) -> Store:
    """Begin a run that has its synthetic corpus and whose rankings are planned in small parts."""
    store, corpus = stack.run(key), synthetic(pairs)
    describe_run(store, find_domain("news"))
    write_corpus_to(store, "synthetic", corpus)
    ids = [pair.id for pair in corpus.pairs]
    parts = tuple(tuple(ids[start : start + pairs_per_part]) for start in range(0, pairs, pairs_per_part))
    sentences = len({text for document in corpus.documents.values() for text in document.texts})
    for retriever in retrievers:
        warm = 20 if retriever == MINILM else None
        plan = RankPlan(sentences_per_part=warm, sentences=sentences, parts=parts)
        store.write_text(rank_plan_file("synthetic", retriever), plan.model_dump_json())
    return store


def benchmark(stack: Stack, key: str, runner: str, retrievers: Sequence[str]) -> str:
    """Start the flow with its own cache, so that each runner computes its own embeddings."""
    asked = {"retrievers": list(retrievers), "learned": [], "rules": [], "cutoffs": [1], "llm": {"use": False}}
    environment = {
        "ABCDLINK_HOME": str(stack.home.parent / f"home-{key}"),
        "ABCDLINK_RUNS": str(stack.home / "runs"),
        "ABCDLINK_RUNNER": runner,
        "ABCDLINK_RUNNER_WORKERS": "2",
    }
    return stack.prefect.start("benchmark/benchmark", {"run": key, "benchmark": asked}, environment)


@pytest.mark.parametrize(
    ("runner", "retrievers"), [("threads", ["bm25"]), ("process", ["bm25", MINILM]), ("dask", ["bm25"])]
)
def test_every_runner_gives_the_same_benchmark(stack: Stack, runner: str, retrievers: list[str]) -> None:
    """The default runner also gets a model, which takes seconds to load; all runners handle its parts alike."""
    store = begin(stack, f"by-{runner}", 4, 2, retrievers)
    flow_run = benchmark(stack, store.key, runner, retrievers)
    stack.prefect.wait(flow_run, "Completed")
    corpus = read_corpus_from(store, "synthetic")
    artifacts = stack.prefect.artifacts(flow_run)
    progress = {a["description"]: a["data"] for a in artifacts if a["type"] == "progress"}
    for retriever in retrievers:
        expected = rank_corpus(corpus, get_retriever(retriever))
        ranked = read_rankings(store, "synthetic", retriever).table
        pd.testing.assert_frame_equal(ranked, expected, rtol=0, atol=1e-6)
        embedded = 3 if retriever == MINILM else 0
        assert len(stack.prefect.tasks_named(flow_run, f"rank synthetic with {retriever}", 2)) == 2
        assert len(stack.prefect.tasks_named(flow_run, f"prepare {retriever}", embedded)) == embedded
        assert progress[f"rank synthetic with {retriever}: {2 + embedded} of {2 + embedded}"] == 100


def test_a_corpus_is_labelled_in_parts_and_only_missing_parts_are_redone(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """First by processes; the missing part by threads, with the same result."""
    folder, run = str(tmp_path / "archive"), "labelled"
    write_corpus(made("archive", 2500, seed=2), folder)
    configure(monkeypatch, runs=stack.home / "runs")
    store = run_with_linker(run)
    planned = plan_labels(store, folder, "archive", cells=20_000)
    parameters = {"run": run, "corpus": folder, "labels": {"precision": 0.8}}

    def label(runner: str, parts: int) -> list[str]:
        """Run the flow and return its tasks that label so many parts."""
        environment = {"ABCDLINK_RUNNER": runner, "ABCDLINK_RUNNER_WORKERS": "2", "PYTHONPATH": str(ROOT)}
        flow_run = stack.prefect.start("label/label", parameters, environment)
        stack.prefect.wait(flow_run, "Completed")
        return stack.prefect.tasks_named(flow_run, "label archive", parts)

    assert label("process", 3) == [f"label archive, part {part}" for part in range(3)]
    assert planned.summary(0.8).pairs == 2500
    links = labels_file("archive", "part-00001.parquet")
    before = store.folder.read(links)
    store.folder.remove(labels_file("archive", "part-00001.json"))
    assert label("threads", 1) == ["label archive, part 1"]
    assert store.folder.read(links) == before


def test_a_plugin_is_benchmarked_by_name(stack: Stack, tmp_path: Path) -> None:
    store = begin(stack, "plugin", pairs=6, pairs_per_part=2)
    asked = {
        "retrievers": ["bm25"],
        "more_retrievers": ["shared-words"],
        "learned": ["scaled"],
        "cutoffs": [1],
        "rules": [],
        "llm": {"use": False},
    }
    environment = {"PYTHONPATH": str(install_plugin(tmp_path))}
    parameters = {"run": "plugin", "benchmark": asked}
    stack.prefect.wait(stack.prefect.start("benchmark/benchmark", parameters, environment), "Completed")
    assert {result.approach.name for result in read_benchmark(store).approaches} == {
        "bm25@1",
        "shared-words@1",
        "scaled@1",
    }


def test_parts_finished_before_a_kill_are_not_ranked_again(stack: Stack) -> None:
    store, worker = begin(stack, "killed", pairs=PAIRS, pairs_per_part=1), psutil.Process(stack.prefect.worker.pid)

    def parts() -> dict[str, int]:
        folder = Path(store.where()) / "rankings/synthetic/bm25"
        return {path.name: path.stat().st_mtime_ns for path in folder.glob("part-*.parquet")}

    def run_until_killed(choose: Callable[[psutil.Process, list[psutil.Process]], psutil.Process], state: str) -> None:
        """Start the flow, kill a process of it after some parts, and see that all of them are gone."""
        before = len(parts())
        # A run is completed some moments before its process ends.
        _, earlier = psutil.wait_procs(worker.children(), timeout=WAIT)
        assert not earlier
        flow_run = benchmark(stack, "killed", "process", ["bm25"])
        until(lambda: len(parts()) >= before + 3, "three more parts", poll=0.02)
        (flow,) = worker.children()
        pool = [process for process in flow.children() if "spawn_main" in " ".join(process.cmdline())]
        choose(flow, pool).kill()
        stack.prefect.wait(flow_run, state)
        _, left = psutil.wait_procs(pool, timeout=WAIT)
        assert not left, "processes of a killed flow are left over"

    run_until_killed(lambda _flow, pool: pool[0], "Failed")
    after_first = parts()
    run_until_killed(lambda flow, _pool: flow, "Crashed")
    after_second = parts()
    assert 3 <= len(after_first) < len(after_second) < PAIRS
    stack.prefect.wait(benchmark(stack, "killed", "process", ["bm25"]), "Completed")
    finished = parts()
    assert len(finished) == PAIRS
    assert {name: finished[name] for name in after_second} == after_second
    assert {name: finished[name] for name in after_first} == after_first


@pytest.mark.parametrize("extra", ["dask", "ray"])
def test_a_runner_without_its_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch, extra: str) -> None:
    monkeypatch.setenv("ABCDLINK_RUNNER", extra)
    monkeypatch.setitem(sys.modules, f"prefect_{extra}", None)
    with pytest.raises(InputError, match=f"no module prefect_{extra}") as missing:
        task_runner()
    assert f"pip install 'abcdlink[{extra}]'" in missing.value.hint


def test_a_cluster_address_without_a_cluster_runner_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABCDLINK_RUNNER", "process")
    monkeypatch.setenv("ABCDLINK_RUNNER_ADDRESS", "tcp://10.0.0.7:8786")
    with pytest.raises(InputError, match="ABCDLINK_RUNNER_ADDRESS"):
        task_runner()
    configure(monkeypatch, runner="dask")
    assert task_runner().address == "tcp://10.0.0.7:8786"


def test_a_local_dask_cluster_lets_no_outsider_in(monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import Client, LocalCluster

    configure(monkeypatch, runner="dask")
    with LocalCluster(**task_runner().cluster_kwargs | {"n_workers": 1}) as cluster:
        with Client(cluster) as ours:
            assert ours.submit(sum, [1, 2]).result() == 3
        outside = cluster.scheduler_address.replace("tls://", "tcp://")
        with pytest.raises(OSError, match=r"Timed out|closed"):
            Client(outside, timeout=3)


def test_processes_share_the_cores_with_one_thread_each_unless_set_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(8)), raising=False)
    assert worker_count(Settings(runner="threads")) == 1
    assert worker_count(Settings(runner="process")) == 8
    assert worker_count(Settings(runner="dask", threads=3)) == 2
    assert worker_count(Settings(runner="ray", threads=16)) == 1
    assert worker_count(Settings(runner="threads", runner_workers=5)) == 5
