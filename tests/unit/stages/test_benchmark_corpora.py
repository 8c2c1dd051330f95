"""The benchmark of several corpora with gold links: three LLMs, sampled sources, means over corpora, interruptions."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.cli.app import main
from abcdlink.corpus import Corpus
from abcdlink.corpus.io import write_corpus
from abcdlink.errors import InputError
from abcdlink.evaluation.comparisons import compare_with_best
from abcdlink.layout import BENCHMARK, OVERVIEW, SCORES, benchmark_file
from abcdlink.linking.records import Setup
from abcdlink.stages.benchmark import read_benchmark
from abcdlink.stages.benchmark_corpora import Overview, prepare, run_benchmarks, take_corpora
from abcdlink.stages.estimate import estimate_corpora
from abcdlink.stages.execution import HERE
from abcdlink.stages.plan import BenchmarkPlan, LLMPlan, draw_sources, read_sample
from abcdlink.store import open_run
from tests.helpers.fake_llm import hangs_up
from tests.helpers.forked import forked
from tests.helpers.scripted import scripted_corpora
from tests.helpers.several_llms import (
    MODELS,
    SCRIPTS,
    SOURCES,
    TARGETS,
    Servers,
    gold,
    pair_of,
    refused,
    tossed,
)

PAIRS = {"north": 3, "south": 2}
LINKED = SOURCES - 1
QUESTIONS = sum(PAIRS.values()) * SOURCES
LLM_ONLY = LLMPlan(models=MODELS, setups=(Setup.LLM_ONLY,))
PLAN = BenchmarkPlan(retrievers=("bm25",), learned=(), rules=(), cutoffs=(1, 3), llm=LLM_ONLY)


@pytest.fixture
def servers(isolated_home):
    with ExitStack() as stack:
        started = Servers(isolated_home, stack)
        started.settle()
        yield started


@pytest.fixture
def folders(tmp_path):
    for name, count in PAIRS.items():
        pairs, documents = zip(*(pair_of(f"{name[0]}{n}") for n in range(count)), strict=True)
        corpus = Corpus(name=name, documents={d.id: d for some in documents for d in some}, pairs=list(pairs))
        write_corpus(corpus, tmp_path / name)
    return [str(tmp_path / name) for name in PAIRS]


def benchmark(folders, plan=PLAN, key="b", domains=("news",)):
    store = open_run(key)
    return store, run_benchmarks(store, take_corpora(store, folders, domains, plan), plan)


def f1_of(corpus, decided):
    """Mean F1 of the sources with links by plain sets; ``None`` from ``decided`` is no answer and counts as wrong."""
    values = []
    for pair in range(PAIRS[corpus]):
        for number in range(LINKED):
            source = f"{corpus[0]}{pair}-s{number}"
            links, found = gold(source), decided(source)
            hits = len(links & found) if found else 0
            values.append(2 * hits / (len(links) + len(found)) if hits else 0.0)
    return float(np.mean(values))


def by_chance(source):
    pair = source.partition("-")[0]
    return {target for target in (f"{pair}-t{n}" for n in range(TARGETS)) if tossed(source, target)}


def test_scores_of_three_models_on_two_corpora_equal_plain_sets(servers, folders):
    store, overview = benchmark(folders)
    assert [len(server.questions) for server in servers.values()] == [QUESTIONS] * len(MODELS)
    domains = take_corpora(store, folders, ["news"], PLAN)
    assert estimate_corpora(store, domains, prepare(store, domains, PLAN, HERE)).total.calls == 0
    decide = {"exact": gold, "chance": by_chance, "shy": lambda source: None if refused(source) else gold(source)}
    across = {one.name: one for one in overview.across}
    for model, decided in decide.items():
        expected = {corpus: f1_of(corpus, decided) for corpus in PAIRS}
        for corpus, value in expected.items():
            results = {one.approach.name: one for one in overview.corpora[corpus].approaches}
            found = results[f"{model}-only-4"]
            assert found.f1_of_all == pytest.approx(value)
            assert found.sources == PAIRS[corpus] * LINKED
            assert found.interval[0] <= value <= found.interval[1]
        assert across[f"{model}-only-4"].f1 == pytest.approx(np.mean(list(expected.values())))
    assert across["exact-only-4"].f1 == 1
    assert next(one.name for one in overview.across) == "exact-only-4"
    assert {row.corpus for row in overview.retrievers} == {*PAIRS, ""}
    overall = next(row for row in overview.retrievers if not row.corpus)
    each = [row for row in overview.retrievers if row.corpus]
    assert overall.average_f1 == pytest.approx(np.mean([row.average_f1 for row in each]))
    assert overall.recall[3] == pytest.approx(np.mean([row.recall[3] for row in each]))
    assert store.read_record(OVERVIEW, Overview) == overview
    assert read_benchmark(store, "corpora/north") == overview.corpora["north"]


def test_a_sample_is_asked_scored_and_compared_on_the_same_sources(servers, folders):
    plan = PLAN.model_copy(update={"llm": LLM_ONLY.model_copy(update={"sources": 5, "linked_only": True})})
    store, overview = benchmark(folders, plan)
    sample = read_sample(store, "corpora/north")
    assert sample.size == 5
    assert {len(drawn) for drawn in sample.drawn.values()} == {1, 2}  # 5 of 3 pairs
    asked = [request.prompt for request in servers["exact"].questions]
    assert len(asked) == 5 + LINKED * PAIRS["south"]
    for result in overview.corpora["north"].approaches:
        with_llm = result.approach.prompt_mode is not None
        assert result.sources == (5 if with_llm else PAIRS["north"] * LINKED)
        assert result.sampled_from == (PAIRS["north"] * LINKED if with_llm else 0)
        assert result.pairs == pytest.approx(3 * 5 / 9 if with_llm else 3)
        assert (result.f1_over_all_sources is None) == with_llm  # its other links were not asked about
    table = store.read_table(benchmark_file("corpora/north", SCORES))
    comparisons = compare_with_best(table)
    assert {one.sources for one in comparisons} == {5}
    scores = table.set_index(["approach", "pair", "source"])["f1"]
    places = [(pair, source) for pair, sources in sample.drawn.items() for source in sources]
    best = comparisons[0].a
    for one in comparisons:
        means = [np.mean([scores[name, pair, source] for pair, source in places]) for name in (best, one.b)]
        answered = one.b != "shy-only-4"
        if answered and best != "shy-only-4":
            assert one.difference.mean == pytest.approx(means[0] - means[1])
    with pytest.raises(InputError, match="other settings"):
        benchmark(folders, PLAN)


def test_candidates_come_from_the_base_retriever_with_the_best_average_f1(servers, folders):
    llm = LLMPlan(models=("exact",), prompt_modes=(1,))
    plan = PLAN.model_copy(update={"retrievers": ("jaccard", "bm25"), "llm": llm})
    _store, overview = benchmark(folders, plan, domains=("news@paper", "reviews@paper"))
    means = {row.retriever: row.average_f1 for row in overview.retrievers if not row.corpus}
    best = max(means, key=means.get)
    names = [{a.approach.name for a in one.approaches if a.outcomes} for one in overview.corpora.values()]
    assert names == [{f"{best}@10+exact-listwise-1"}, {f"{best}@20+exact-listwise-1"}]
    assert f"{best}+exact-listwise-1" in {one.name for one in overview.across}
    for one in overview.corpora.values():
        (compared,) = one.llm_against_retriever
        assert compared.a.startswith(f"{best}@")
        assert compared.sources == one.sources
    assert overview.domains == {"north": "news@paper", "south": "reviews@paper"}


def test_the_cost_by_model_covers_all_corpora(servers, folders):
    servers.settle(exact="price_prompt = 1\nprice_completion = 2")
    store = open_run("b")
    domains = take_corpora(store, folders, ["news"], PLAN)
    plan = prepare(store, domains, PLAN, HERE)
    cost = estimate_corpora(store, domains, plan)
    assert {name: one.calls for name, one in cost.models.items()} == dict.fromkeys(MODELS, QUESTIONS)
    assert cost.priceless == ("chance", "shy")
    assert cost.models["exact"].cost > 0
    assert cost.models["exact"].seconds is None
    timed = estimate_corpora(store, domains, plan, timed=True)
    assert {name: one.calls for name, one in timed.models.items()} == dict.fromkeys(MODELS, QUESTIONS - 1)
    assert all(one.seconds > 0 for one in timed.models.values())
    assert [len(server.questions) for server in servers.values()] == [1, 1, 1]


@pytest.fixture
def command(command):
    def call(*arguments, fails=False):
        found = command("benchmark", *arguments)
        assert bool(found.code) == fails, found.err
        return found

    return call


OPTIONS = ("--retrievers", "bm25", "--cutoffs", "1,3", "--setups", "llm-only", "--llm", ",".join(MODELS), "--run", "c")


def test_the_command_states_the_cost_first(servers, folders, command):
    told = command(*folders, *OPTIONS, "--dry-run")
    assert sum(len(server.questions) for server in servers.values()) == 0
    row = next(line for line in told.err.splitlines() if "exact" in line)
    assert [cell.strip() for cell in row.strip("│ ").split("│")][1] == str(QUESTIONS)


def test_a_command_killed_in_the_second_corpus_resumes_pays_nothing_twice_and_prints_one_table(
    servers, folders, command, isolated_home, monkeypatch
):
    """The servers stop answering after this many questions; then comes SIGKILL."""
    answered = PAIRS["north"] * SOURCES + 5
    kept = isolated_home / "cache" / "llm"
    paid: Counter[str] = Counter()
    mutex, killed = threading.Lock(), threading.Event()

    def answers_some(script):
        left = [answered]

        def answer(request):
            with mutex:
                left[0] -= 1
                late = left[0] < 0 and not killed.is_set()
            if late:
                killed.wait(120)
                return hangs_up()
            with mutex:
                paid[json.dumps(request.body)] += 1
            return script(request)

        return answer

    for model, script in SCRIPTS.items():
        servers[model].answer_by(answers_some(script))
    monkeypatch.setattr(sys, "argv", ["abcdlink", "benchmark", *folders, *OPTIONS])
    process = forked(main)
    until(lambda: sum(paid.values()) == 3 * answered == len(list(kept.glob("??/*.json"))), process)
    process.kill()
    process.join()
    killed.set()
    told = command(*folders, *OPTIONS)
    assert set(paid.values()) == {1}, "an answer was paid for twice"
    assert len(paid) == len(MODELS) * QUESTIONS
    assert told.out.index("north: 3 pairs") < told.out.index("south: 2 pairs") < told.out.index("Overall: means of 2")
    found = json.loads(command(*folders, *OPTIONS, "--json").out)
    assert [one["dataset"] for one in found["corpora"]] == list(PAIRS)
    f1 = {one["name"]: one["f1"] for one in found["overall"]}
    assert f1["exact-only-4"] == 1
    assert f1["chance-only-4"] == pytest.approx(np.mean([f1_of(corpus, by_chance) for corpus in PAIRS]))
    assert f"{100 * f1['chance-only-4']:.2f}" in told.out
    assert set(paid.values()) == {1}


def until(condition, process):
    deadline = time.monotonic() + 300
    while not condition():
        assert process.is_alive()
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--llm", "nobody", "--run", "c"), "no such LLM profile"),
        (("--llm", "exact", "--run", "c", "--modes", "5"), "'5' is not a prompt mode"),
        (("--llm", "exact", "--run", "c", "--setups", "telepathy"), "no set-up 'telepathy'"),
        (("--llm", "exact", "--run", "c", "--candidates", "few"), "'few' is not a number of candidates"),
        (("--domain", "news,reviews,news"), "3 domains are given for 2 corpora"),
    ],
)
def test_impossible_requests_are_one_clear_error(servers, folders, command, options, problem):
    told = command(*folders, "--retrievers", "bm25", *options, fails=True)
    assert problem in " ".join(told.err.split())
    assert "Traceback" not in told.err


def test_two_corpora_of_the_same_name_are_refused(folders, tmp_path):
    again = tmp_path / "elsewhere" / "north"
    again.parent.mkdir()
    (tmp_path / "north").rename(again)
    with pytest.raises(InputError, match="two of the corpora are called 'north'"):
        take_corpora(open_run("b"), [str(again), str(again)], ["news"], PLAN)


def test_a_failing_model_is_named_and_the_others_are_scored(servers, folders):
    servers["shy"].answer_by(servers["shy"]._show)
    servers.settle(shy='api_key_env = "NO_SUCH_KEY"')
    store, overview = benchmark(folders)
    for corpus, one in overview.corpora.items():
        assert [refusal.where for refusal in one.undecided] == ["shy-only-4"]
        assert "NO_SUCH_KEY" in one.undecided[0].reason
        assert store.exists(benchmark_file(f"corpora/{corpus}", BENCHMARK))
    assert "exact-only-4" in {one.name for one in overview.across}


@given(scripted_corpora(), st.integers(1, 20), st.booleans(), st.integers(0, 9))
def test_samples_are_spread_over_pairs_and_depend_only_on_the_seed(example, wanted, linked_only, seed):
    corpus, _ = example
    plan = LLMPlan(sources=wanted, linked_only=linked_only, seed=seed)
    sample = draw_sources(corpus, plan)
    assert sample == draw_sources(corpus, plan)
    population = {
        pair.id: {
            s.id for s in corpus.source_of(pair).sentences if not linked_only or pair.sources_with_links.get(s.id)
        }
        for pair in corpus.pairs
    }
    total = sum(map(len, population.values()))
    assert sample.population == total
    assert sample.size == min(wanted, total)
    for pair, sources in population.items():
        drawn = sample.drawn.get(pair, ())
        assert set(drawn) <= sources
        assert len(set(drawn)) == len(drawn)
        assert abs(len(drawn) - sample.size * len(sources) / max(total, 1)) < 1 + 1e-9
