"""The stages of a run in the library, without Prefect: done once, resumed where they stopped, nothing half done."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from abcdlink.candidates.pools import PoolMode
from abcdlink.cli.app import make_app
from abcdlink.corpus.io import read_corpus_from, write_corpus
from abcdlink.corpus.records import Corpus, Document, Sentence
from abcdlink.corpus.sampling import Sampling
from abcdlink.domain import Domain, find_domain
from abcdlink.errors import InputError, ServiceError
from abcdlink.evaluation.shortlist import ShortlistRule
from abcdlink.judgments import Pool
from abcdlink.layout import POOLS
from abcdlink.linking.records import Approach
from abcdlink.report import render
from abcdlink.report.content import gather
from abcdlink.stages.benchmark import run_benchmark
from abcdlink.stages.candidates import PoolPlan, run_candidates
from abcdlink.stages.generate import Generating, generate_part, plan_generation, run_generation, run_validation
from abcdlink.stages.intake import take_corpus, take_targets
from abcdlink.stages.plan import BenchmarkPlan
from abcdlink.stages.shortlist import quick_shortlist, refuse_quick, run_shortlist
from abcdlink.store import Store, open_run
from tests.helpers.fake_llm import FakeLLM, Request, Response, by_rule, error
from tests.helpers.forked import forked
from tests.helpers.homes import other_home

KEY = "sk-very-secret-0123456789"
PLAN = BenchmarkPlan(retrievers=("bm25",), learned=(), cutoffs=(1, 3), rules=())


@pytest.fixture
def llm(monkeypatch: pytest.MonkeyPatch, isolated_home: Path) -> Iterator[FakeLLM]:
    with FakeLLM(by_rule, key=KEY) as server:
        yield server.use(monkeypatch, api_key=KEY)


@pytest.fixture
def domain() -> Domain:
    return find_domain("news")


@pytest.fixture
def store(domain: Domain, llm: FakeLLM) -> Store:
    run = open_run("r")
    take_corpus(run, "sample", domain, first_pairs=4)
    return run


def run_all(store: Store, domain: Domain) -> None:
    run_generation(store, domain, plan_generation(store, Generating(documents=3)))
    run_validation(store, domain)
    run_benchmark(store, domain, PLAN)
    run_shortlist(store, ShortlistRule())
    run_candidates(store, domain, PoolPlan())


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, FakeLLM]]:
    """A home with a run of all stages, and its LLM."""
    with FakeLLM(by_rule, key=KEY) as server:
        with other_home(tmp_path_factory.mktemp("done")) as home, pytest.MonkeyPatch.context() as patch:
            server.use(patch, api_key=KEY)
            run, domain = open_run("r"), find_domain("news")
            take_corpus(run, "sample", domain, first_pairs=2)
            run_all(run, domain)
        yield home, server


@pytest.fixture
def finished(done: tuple[Path, FakeLLM], monkeypatch: pytest.MonkeyPatch) -> Store:
    """The run of all stages, for reading only."""
    monkeypatch.setenv("ABCDLINK_HOME", str(done[0]))
    done[1].use(monkeypatch, api_key=KEY)
    return open_run("r")


def test_a_run_goes_from_documents_to_pools(finished: Store) -> None:
    store = finished
    synthetic, natural = read_corpus_from(store, "synthetic"), read_corpus_from(store, "natural")
    assert len(synthetic.pairs) == 3
    pools = store.read_records("candidates.jsonl", Pool)
    assert {pool.pair for pool in pools} <= {pair.id for pair in natural.pairs}
    assert {pool.batch for pool in pools} == {1, 2}
    methods = Counter(candidate.method for pool in pools for candidate in pool.candidates)
    assert {"retriever", "llm", "both", "random"} >= set(methods)
    assert methods["retriever"]
    assert methods["random"]
    scores = store.read_table("scores.parquet")
    assert set(scores["approach"]) == {"bm25@1", "bm25@3", "bm25@5+llm-listwise-4"}
    assert {"versions", "prompts", "domain", "corpus", "llm", "inputs"} <= set(store.manifest)


def test_a_second_run_asks_and_changes_nothing(finished: Store, domain: Domain, done: tuple[Path, FakeLLM]) -> None:
    def content() -> dict[str, bytes]:
        return {name: finished.folder.read(name) for name in finished.folder.names()}

    questions = done[1].questions
    assert max(Counter(json.dumps(request.body) for request in questions).values()) == 1
    before = content()
    run_all(finished, domain)
    assert len(done[1].questions) == len(questions)
    assert content() == before


def test_an_interrupted_stage_resumes_with_the_missing_part(store: Store, domain: Domain, llm: FakeLLM) -> None:
    plan = plan_generation(store, Generating(documents=5))
    assert len(plan.parts) == 2
    generate_part(store, domain, plan, 0)
    asked = len(llm.questions)
    result = run_generation(store, domain, plan)
    assert result.documents == 5
    assert len(llm.questions) < 2 * asked


def test_different_settings_for_the_same_run_are_refused_by_name(store: Store, domain: Domain) -> None:
    run_generation(store, domain, plan_generation(store, Generating(documents=1)))
    with pytest.raises(InputError, match=r"seed=13 \(now 14\)") as refused:
        run_generation(store, domain, plan_generation(store, Generating(seed=14, documents=1)))
    assert "another run key" in refused.value.hint


def test_a_corpus_that_is_refused_leaves_the_run_free_for_another(domain: Domain, tmp_path: Path) -> None:
    store, wrong = open_run("second-try"), str(documents_alone(tmp_path / "no-pairs", 2))
    with pytest.raises(InputError, match="contains no pairs"):
        take_corpus(store, wrong, domain)
    assert len(take_corpus(store, "sample", domain, first_pairs=1).pairs) == 1
    with pytest.raises(InputError, match="other settings"):
        take_corpus(store, wrong, domain)


def documents_alone(folder: Path, number: int) -> Path:
    texts = [f"The council of town {n} met on Monday and closed its bridge." for n in range(number)]
    documents = {f"d{n}": Document(id=f"d{n}", sentences=(Sentence(id="0", text=t),)) for n, t in enumerate(texts)}
    write_corpus(Corpus(name="alone", documents=documents, pairs=[]), folder, {"language": "en", "format": "text"})
    return folder


def test_pairs_are_generated_for_unpaired_documents(tmp_path: Path, domain: Domain, llm: FakeLLM) -> None:
    targets, run = documents_alone(tmp_path / "alone", 9), open_run("alone")
    how = Sampling(size=3, seed=1)
    drawn = take_targets(run, str(targets), domain, how)
    made = run_generation(run, domain, plan_generation(run, Generating()))
    assert (made.documents, made.pairs) == (3, 3)
    synthetic = read_corpus_from(run, "synthetic")
    assert {pair.target for pair in synthetic.pairs} == set(drawn.documents)
    about = run.manifest["targets"]
    assert about["history"] == ["Drawn: 3 of 9 documents, drawn at random with seed 1"]
    assert (about["sampled"]["there"], about["format"], run.language) == (9, "text", "en")
    assert {counts.documents for counts in run_validation(run, domain).counts.values()} == {3, 6}
    asked = len(llm.questions)
    assert list(take_targets(run, str(targets), domain, how).documents) == list(drawn.documents)
    assert len(llm.questions) == asked
    with pytest.raises(InputError, match="other settings: seed=1"):
        take_targets(run, str(targets), domain, Sampling(size=3, seed=2))


def test_natural_pairs_can_come_from_another_corpus(tmp_path: Path, domain: Domain, llm: FakeLLM) -> None:
    run = open_run("both")
    natural = take_corpus(run, "sample", domain, first_pairs=2)
    take_targets(run, str(documents_alone(tmp_path / "alone", 2)), domain, Sampling())
    run_generation(run, domain, plan_generation(run, Generating()))
    quick_shortlist(run, domain)
    run_candidates(run, domain, PoolPlan(mode=PoolMode.SINGLE))
    assert {pair.target for pair in read_corpus_from(run, "synthetic").pairs} == {"d0", "d1"}
    assert {pool.pair for pool in run.read_records(POOLS, Pool)} <= {pair.id for pair in natural.pairs}


def test_a_run_that_has_generated_accepts_no_other_targets(tmp_path: Path, store: Store, domain: Domain) -> None:
    run_generation(store, domain, plan_generation(store, Generating(documents=2)))
    with pytest.raises(InputError, match="already generated"):
        take_targets(store, str(documents_alone(tmp_path / "alone", 2)), domain, Sampling())


def test_pairs_are_generated_for_unused_documents_too(store: Store) -> None:
    natural = read_corpus_from(store, "natural")
    targets = plan_generation(store, Generating()).targets
    used = {pair.source for pair in natural.pairs} | {pair.target for pair in natural.pairs}
    assert set(targets) > {pair.target for pair in natural.pairs}
    assert any(target not in used for target in targets)
    assert not {pair.source for pair in natural.pairs} & set(targets)


def test_an_llm_that_fails_midway_leaves_no_part_and_is_paid_once(
    store: Store, domain: Domain, isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_generation(store, Generating(documents=3))
    answered: list[str] = []
    broken = True

    def gives_out(request: Request) -> Response:
        if broken and len(answered) >= 7:
            return error(400, "out of order")
        answered.append(json.dumps(request.body))
        return by_rule(request)

    with FakeLLM(gives_out, key=KEY) as server:
        server.use(monkeypatch)
        with pytest.raises(ServiceError, match="did not answer"):
            run_generation(store, domain, plan)
        assert not store.exists("generation.json")
        assert not [name for name in store.folder.names() if name.startswith("generated/")]
        broken = False
        assert run_generation(store, domain, plan).pairs == 3
    assert max(Counter(answered).values()) == 1


def test_two_processes_of_one_run_ask_each_question_once(
    store: Store, domain: Domain, llm: FakeLLM, tmp_path: Path
) -> None:
    def generate(done: Path) -> None:
        result = run_generation(store, domain, plan_generation(store, Generating(documents=2)))
        done.write_text(str(result.pairs), encoding="utf-8")

    places = [tmp_path / name for name in "ab"]
    for process in [forked(generate, place) for place in places]:
        process.join()
    said = [place.read_text(encoding="utf-8") for place in places]
    assert said[0] == said[1] != ""
    assert max(Counter(json.dumps(request.body) for request in llm.questions).values()) == 1


def test_the_llm_key_is_in_no_file(done: tuple[Path, FakeLLM]) -> None:
    files = [path for path in done[0].rglob("*") if path.is_file()]
    assert len(files) > 20
    assert not [path for path in files if KEY.encode() in path.read_bytes()]


def test_a_quick_try_needs_no_llm_and_its_report_says_what_was_skipped(
    store: Store, domain: Domain, llm: FakeLLM
) -> None:
    chosen = quick_shortlist(store, domain)
    assert [approach.name for approach in chosen.approaches] == ["bm25@4"]
    counts = run_candidates(store, domain, PoolPlan(mode=PoolMode.SINGLE))
    assert counts.methods == {"retriever": counts.candidates}
    assert counts.candidates > 20
    assert quick_shortlist(store, domain) == chosen
    assert llm.questions == []
    page = render(gather(store))
    assert "This run is a quick try" in page
    for stage in ("generate", "benchmark"):
        assert f"without the stage <b>{stage}</b>" in page
    with pytest.raises(InputError, match="is a quick try"):
        refuse_quick(store)


def test_a_run_with_a_benchmark_does_not_become_a_quick_try(finished: Store, domain: Domain) -> None:
    refuse_quick(finished)
    with pytest.raises(InputError, match="other settings"):
        quick_shortlist(finished, domain)
    assert "quick try" not in render(gather(finished))


def test_the_command_runs_every_stage_in_its_own_process(llm: FakeLLM, tmp_path: Path) -> None:
    def command(*arguments: str) -> str:
        result = CliRunner().invoke(make_app(), ["run", *arguments])
        assert result.exit_code == 0, result.output + str(result.exception)
        return result.stdout

    few = ("--retrievers", "bm25", "--cutoffs", "1,3", "--json")
    store = open_run("here")
    take_corpus(store, "sample", find_domain("news"), first_pairs=2)
    run_generation(store, find_domain("news"), plan_generation(store, Generating(documents=2)))
    made = json.loads(command("benchmark", "here", *few))
    approaches = [Approach.model_validate(one["approach"]).name for one in made["approaches"]]
    assert approaches == ["bm25@1", "bm25@3", "bm25@5+llm-listwise-4"]
    asked = len(llm.questions)
    assert json.loads(command("benchmark", "here", *few)) == made
    assert len(llm.questions) == asked
    counts = json.loads(command("bootstrap", "quick", "--pairs", "2", "--quick", "--here", "--json"))
    assert counts["candidates"] == sum(len(pool.candidates) for pool in open_run("quick").read_records(POOLS, Pool)) > 0
