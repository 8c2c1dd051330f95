"""Several LLMs in one run: one exact, one at chance, one that refuses a tenth; and what happens when one fails."""

from __future__ import annotations

import json
import threading
from collections import Counter
from contextlib import ExitStack

import pytest

from abcdlink.errors import BudgetError, InputError, ServiceError
from abcdlink.layout import GENERATION, NATURAL, SHORTLIST, SYNTHETIC
from abcdlink.linking.records import Setup
from abcdlink.llm.records import Outcome
from abcdlink.stages.benchmark import run_benchmark
from abcdlink.stages.decide import read_decisions
from abcdlink.stages.execution import HERE
from abcdlink.stages.plan import BenchmarkPlan, LLMPlan
from abcdlink.stages.rank import rank
from abcdlink.store import open_run
from tests.helpers.fake_llm import error
from tests.helpers.linking import DOMAIN
from tests.helpers.several_llms import (
    MODELS,
    SCRIPTS,
    SOURCES,
    TARGETS,
    Servers,
    asked,
    chance,
    gold,
    refused,
    tossed,
    write,
)

PAIRS = 5


def plan_with(*models: str) -> BenchmarkPlan:
    llm = LLMPlan(setups=(Setup.LLM_ONLY,), models=models)
    return BenchmarkPlan(retrievers=("bm25",), learned=(), rules=(), cutoffs=(1,), llm=llm)


PLAN = plan_with(*MODELS)


@pytest.fixture
def store(isolated_home):
    """A run with two corpora."""
    run = open_run("r")
    write(run, SYNTHETIC, [f"p{n}" for n in range(PAIRS)])
    write(run, NATURAL, [f"q{n}" for n in range(PAIRS)])
    return run


@pytest.fixture
def servers(isolated_home):
    with ExitStack() as stack:
        started = Servers(isolated_home, stack)
        started.settle()
        yield started


def decide_natural(store):
    """Let the same approaches decide the other corpus of the run, as the stage candidates does."""
    rank(store, NATURAL, "bm25")
    approaches = PLAN.llm.approaches((), ())
    HERE.decide(store, NATURAL, DOMAIN, approaches)
    return {one.model: read_decisions(store, NATURAL, one).decisions for one in approaches}


def questions(servers) -> Counter:
    return Counter(json.dumps(request.body) for name in MODELS for request in servers[name].questions)


def by_hand(decided: dict[str, set[str]]) -> tuple[float, float, float]:
    """Return macro precision, recall and F1 over sources with links, from the definitions."""
    cells = []
    for source, links in decided.items():
        hits = len(links & gold(source))
        precision, recall = hits / len(links) if links else 0.0, hits / len(gold(source))
        cells.append((precision, recall, 2 * precision * recall / (precision + recall) if hits else 0.0))
    return tuple(sum(column) / len(cells) for column in zip(*cells, strict=True))


def test_three_models_in_one_run_on_two_corpora_are_asked_side_by_side(store, servers):
    """Nobody answers until all three servers have been asked something."""
    meeting = threading.Barrier(len(MODELS), timeout=120)
    met: set[str] = set()

    def waits(model, script):
        def answer(request):
            if model not in met:
                met.add(model)
                meeting.wait()
            return script(request)

        return answer

    for model, script in SCRIPTS.items():
        servers[model].answer_by(waits(model, script))
    result = run_benchmark(store, DOMAIN, PLAN)
    assert met == set(MODELS)
    assert set(store.manifest["llm"]) == {f"decide synthetic by {model}" for model in MODELS}
    told = {one.approach.name: one for one in result.approaches}
    assert list(told)[-3:] == ["exact-only-4", "chance-only-4", "shy-only-4"]
    with_links = [f"p{pair}-s{n}" for pair in range(PAIRS) for n in range(SOURCES - 1)]
    targets = {source: [f"{source.split('-')[0]}-t{n}" for n in range(TARGETS)] for source in with_links}
    heads = {source: {target for target in targets[source] if tossed(source, target)} for source in with_links}
    answered = [source for source in with_links if not refused(source)]
    assert 0 < len(answered) < len(with_links)
    expected = {
        "exact-only-4": by_hand({source: gold(source) for source in with_links}),
        "chance-only-4": by_hand(heads),
        "shy-only-4": by_hand({source: gold(source) for source in answered}),
    }
    for name, cells in expected.items():
        assert (told[name].precision, told[name].recall, told[name].f1) == pytest.approx(cells)
    assert told["shy-only-4"].f1_of_all == pytest.approx(len(answered) / len(with_links))
    sources = [f"p{pair}-s{n}" for pair in range(PAIRS) for n in range(SOURCES)]
    assert told["shy-only-4"].outcomes[Outcome.REFUSED] == sum(map(refused, sources))
    assert told["exact-only-4"].outcomes == {Outcome.OK: PAIRS * SOURCES}
    natural = decide_natural(store)
    assert all(set(one.targets) == gold(one.source) for one in natural["exact"])
    assert {one.source for one in natural["shy"] if one.outcome is Outcome.REFUSED} == {
        one.source for one in natural["exact"] if refused(one.source)
    }
    assert set(questions(servers).values()) == {1}
    assert [len(servers[name].questions) for name in MODELS] == [2 * PAIRS * SOURCES] * 3
    noted = store.manifest["llm"]
    assert noted["decide synthetic by exact"]["model"] == noted["decide natural by exact"]["model"] == "exact"
    assert result.usage["chance-only-4"].calls == PAIRS * SOURCES


def test_a_missing_key_affects_only_its_model_and_can_be_added_until_approaches_are_chosen(store, servers, monkeypatch):
    servers.settle(chance='api_key_env = "CHANCE_KEY"')
    result = run_benchmark(store, DOMAIN, PLAN)
    assert [one.approach.name for one in result.approaches][-2:] == ["exact-only-4", "shy-only-4"]
    (open_one,) = result.undecided
    assert open_one.where == "chance-only-4"
    assert "'chance' has no key: the environment variable CHANCE_KEY" in open_one.reason
    assert not servers["chance"].questions
    before = [len(servers[name].questions) for name in ("exact", "shy")]
    monkeypatch.setenv("CHANCE_KEY", "a-key-for-chance")
    store.write_text(SHORTLIST, "{}")
    assert run_benchmark(store, DOMAIN, PLAN) == result
    assert not servers["chance"].questions
    store.folder.remove(SHORTLIST)
    result = run_benchmark(store, DOMAIN, PLAN)
    assert not result.undecided
    assert len([one for one in result.approaches if one.approach.model]) == 3
    assert [len(servers[name].questions) for name in ("exact", "shy")] == before


def test_a_server_that_dies_midway_leaves_only_its_approaches_open(store, servers, monkeypatch):
    def dies(request):
        return chance(request) if len(servers["chance"].questions) <= 5 else error(401, "gone")

    servers["chance"].answer_by(dies)
    result = run_benchmark(store, DOMAIN, plan_with("exact", "chance"))
    told = {one.approach.name: one for one in result.approaches}
    kept = [one for one in told.values() if one.approach.model == "chance"]
    assert told["exact-only-4"].f1 == 1
    assert [one.where for one in result.undecided] == ["chance-only-4"]
    assert not kept
    servers["chance"].answer_by(chance)
    result = run_benchmark(store, DOMAIN, plan_with("exact", "chance"))
    assert not result.undecided
    answered = Counter(asked(request)[0] for request in servers["chance"].questions[:5])
    assert not set(answered) & {asked(request)[0] for request in servers["chance"].questions[5:][-PAIRS * SOURCES :]}


def test_if_all_models_fail_the_stage_fails_and_says_why(store, servers):
    servers.settle(**{name: f'api_key_env = "KEY_OF_{name.upper()}"' for name in MODELS})
    with pytest.raises(ServiceError, match="'exact' has no key"):
        run_benchmark(store, DOMAIN, PLAN)


def test_missing_prices_and_an_exhausted_budget_affect_only_their_models(store, servers):
    servers.settle(chance="budget = 5", shy="budget_tokens = 1000")
    result = run_benchmark(store, DOMAIN, PLAN)
    reasons = {one.where: one.reason + one.hint for one in result.undecided}
    assert set(reasons) == {"chance-only-4", "shy-only-4"}
    assert "set price_prompt in [llm.chance]" in reasons["chance-only-4"]
    assert "budget_tokens in [llm.shy]" in reasons["shy-only-4"]
    servers.settle(exact="budget_tokens = 10", chance="budget_tokens = 10", shy="budget_tokens = 10")
    other = open_run("other")
    write(other, SYNTHETIC, ["z0"])
    with pytest.raises(BudgetError):
        run_benchmark(other, DOMAIN, PLAN)


def test_an_unknown_profile_is_refused_before_anything_is_ranked(store, servers):
    plan = PLAN.model_copy(update={"llm": LLMPlan(models=("exact", "nobody"))})
    with pytest.raises(InputError, match="'nobody': there is no such LLM profile"):
        run_benchmark(store, DOMAIN, plan)
    assert not store.exists("rankings/synthetic/bm25/plan.json")


def test_a_model_that_wrote_the_pairs_it_links_is_marked(store, servers):
    store.write_text(GENERATION, json.dumps({"model": "organisation/Chance"}))
    result = run_benchmark(store, DOMAIN, plan_with("exact", "chance"))
    assert result.own_pairs == ("chance-only-4",)
    assert result.notes[-1].endswith("may flatter chance-only-4.")
