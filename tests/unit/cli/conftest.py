"""A run that the stages made with a scripted LLM, and commands called as the shell calls them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from abcdlink.domain import find_domain
from abcdlink.linking.records import CutoffRule, Setup
from abcdlink.settings import get_settings
from abcdlink.stages.benchmark import run_benchmark
from abcdlink.stages.generate import Generating, plan_generation, run_generation
from abcdlink.stages.intake import take_corpus
from abcdlink.stages.plan import BenchmarkPlan, LLMPlan
from abcdlink.store import Store, open_run
from tests.helpers.fake_llm import FakeLLM, Request, Response, by_rule, says
from tests.helpers.homes import configure

PLAN = BenchmarkPlan(
    retrievers=("bm25", "jaccard"),
    learned=(),
    cutoffs=(1, 3),
    rules=(CutoffRule.THRESHOLD,),
    folds=3,
    llm=LLMPlan(retrievers=("bm25",), cutoffs=(3,), setups=(Setup.LISTWISE,), prompt_modes=(1, 4)),
)


def answer(request: Request) -> Response:
    """Answer by the fixed rule, but refuse to judge now and then."""
    judges = all(kind.get("type") == "boolean" for kind in request.schema["properties"].values())
    silent = hashlib.sha256(request.prompt.encode()).hexdigest()[-1] in "01"
    return says("I would rather not say.") if judges and silent else by_rule(request)


@pytest.fixture(scope="session")
def llm() -> Iterator[FakeLLM]:
    with FakeLLM(answer) as server:
        yield server


@pytest.fixture(scope="session")
def benchmarked(tmp_path_factory: pytest.TempPathFactory, llm: FakeLLM) -> Path:
    """A home folder with the benchmarked run ``r``; for reading only."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        point_to(folder, llm, patch)
        domain, store = find_domain("news"), open_run("r")
        take_corpus(store, "sample", domain, first_pairs=4)
        run_generation(store, domain, plan_generation(store, Generating(documents=5)))
        run_benchmark(store, domain, PLAN)
    get_settings.cache_clear()
    return folder


def point_to(home: Path, llm: FakeLLM, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(monkeypatch, home=home)
    llm.use(monkeypatch)


@pytest.fixture
def store(benchmarked: Path, llm: FakeLLM, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The benchmarked run."""
    point_to(benchmarked, llm, monkeypatch)
    return open_run("r")


@pytest.fixture
def run(store: Store, command: Callable[..., tuple[int, str, str]]) -> Callable[..., str]:
    """Call a command on the run; returns its output: only stdout for JSON, only stderr if it should fail."""

    def call(*arguments: object, fails: bool = False) -> str:
        code, out, err = command(*arguments)
        assert bool(code) == fails, err
        return err if fails else out if "--json" in arguments else out + err

    return call
