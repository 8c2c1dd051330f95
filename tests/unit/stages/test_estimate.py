"""What a run has yet to ask, in calls, tokens and money, estimated without asking anything."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from abcdlink.cli.app import make_app
from abcdlink.corpus.io import write_corpus_to
from abcdlink.errors import InputError
from abcdlink.evaluation.shortlist import Shortlist
from abcdlink.layout import SHORTLIST
from abcdlink.linking.records import Approach, ApproachKind, CutoffRule, Scoring, Setup
from abcdlink.llm.client import LLM
from abcdlink.stages.benchmark import benchmark_done, run_benchmark
from abcdlink.stages.estimate import estimate_approaches, estimate_benchmark, estimate_candidates
from abcdlink.stages.intake import describe_run
from abcdlink.stages.plan import BenchmarkPlan, LLMPlan
from abcdlink.store import open_run
from tests.helpers.fake_llm import MODEL, FakeLLM, fits
from tests.helpers.linking import DOMAIN, approach, numbered_corpus

PLAN = BenchmarkPlan(retrievers=("bm25",), learned=(), cutoffs=(1, 3), rules=(), llm=LLMPlan(cutoffs=(3,)))
SOURCES = 4 * 3


@pytest.fixture
def store(isolated_home):
    """A run with 4 synthetic pairs of 3 and 4 sentences, which also serve as natural ones."""
    run = open_run("r")
    describe_run(run, DOMAIN)
    for name in ("synthetic", "natural"):
        write_corpus_to(run, name, numbered_corpus(4))
    return run


@pytest.fixture
def server(monkeypatch):
    with FakeLLM(fits) as served:
        yield served.use(monkeypatch, price_prompt="10", price_completion="100")


def show(*options):
    shown = CliRunner().invoke(make_app(), ["estimate", "r", *options])
    if shown.exception and not isinstance(shown.exception, SystemExit):
        raise shown.exception
    return shown


def test_the_estimate_equals_what_the_benchmark_then_asks(store, server):
    found = estimate_benchmark(store, DOMAIN, PLAN)
    assert list(found.approaches) == ["bm25@3+llm-listwise-4"]
    assert (found.total.questions, found.total.kept, found.total.calls) == (SOURCES, 0, SOURCES)
    assert found.total.cost == pytest.approx(
        (found.total.prompt_tokens * 10 + found.total.completion_tokens * 100) / 1e6
    )
    assert server.questions + server.probes == []
    run_benchmark(store, DOMAIN, PLAN)
    assert len(server.questions) == SOURCES
    assert estimate_benchmark(store, DOMAIN, PLAN).total.questions == 0


def test_a_question_shared_by_approaches_is_counted_once_in_the_total(store, server):
    one = approach(Setup.LLM_ONLY, scoring=Scoring.VOTES, samples=3)
    more = [approach(Setup.LLM_ONLY, scoring=Scoring.VOTES, samples=n) for n in (3, 5)]
    ruled = one.model_copy(update={"rule": CutoffRule.SHARE})
    found = estimate_approaches(store, "synthetic", DOMAIN, [*more, ruled])
    assert {name: one.calls for name, one in found.approaches.items()} == {
        "llm-only-4-votes3": 3 * SOURCES,
        "llm-only-4-votes5": 5 * SOURCES,
    }
    assert found.total.calls == 5 * SOURCES


def test_answers_for_another_run_are_found_in_the_cache(store, server):
    first = estimate_approaches(store, "synthetic", DOMAIN, [approach(Setup.LLM_ONLY)])
    from abcdlink.stages.decide import questions_left

    LLM().ask_many(questions_left(store, "synthetic", DOMAIN, approach(Setup.LLM_ONLY))[:5])
    then = estimate_approaches(store, "synthetic", DOMAIN, [approach(Setup.LLM_ONLY)]).total
    assert (first.total.kept, then.kept, then.calls) == (0, 5, SOURCES - 5)


def test_the_command_uses_the_runs_plan_with_the_given_changes(store, server):
    assert not benchmark_done(store, PLAN)
    shown = json.loads(show("--json").stdout)
    assert (shown["model"], list(shown["approaches"])) == (MODEL, ["bm25@3+llm-listwise-4"])
    shown = json.loads(show("--setups", "pairwise,llm-only", "--modes", "1,4", "--cutoffs", "2", "--json").stdout)
    assert {name: one["calls"] for name, one in shown["approaches"].items()} == {
        "bm25@2+llm-pairwise-1": 2 * SOURCES,
        "bm25@2+llm-pairwise-4": 2 * SOURCES,
        "llm-only-1": SOURCES,
        "llm-only-4": SOURCES,
    }
    assert server.questions + server.probes == []


def test_the_table_says_what_must_be_ranked_and_how_tokens_were_counted(store, server):
    benchmark_done(store, PLAN)
    shown = show()
    assert "bm25@3+llm-listwise-4" in shown.output
    assert "must be ranked first, by bm25" in shown.output
    assert "a quarter of the bytes" in shown.output
    assert "ranked first" not in show().output


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--natural", "--modes", "3"), "prompt_modes cannot be chosen"),
        (("--natural",), "has no shortlist.json yet"),
    ],
)
def test_unavailable_estimates_are_explained(store, server, options, said):
    with pytest.raises(InputError, match=said):
        show(*options)


@pytest.mark.parametrize("with_llm", [True, False])
def test_the_shortlisted_approach_is_estimated_on_the_natural_pairs(store, server, with_llm):
    first = Approach(kind=ApproachKind.RETRIEVER, retriever="bm25", cutoff=2)
    second = approach() if with_llm else Approach(kind=ApproachKind.LEARNED, retriever="learned-logistic", cutoff=1)
    store.write_text(SHORTLIST, Shortlist(first=first, second=second, reasons=()).model_dump_json())
    if with_llm:
        assert estimate_candidates(store, DOMAIN).total.calls == SOURCES
        assert list(json.loads(show("--natural", "--json").stdout)["approaches"]) == ["bm25@3+llm-listwise-4"]
    else:
        with pytest.raises(InputError, match="none of them asks an LLM"):
            estimate_candidates(store, DOMAIN)
    assert server.questions + server.probes == []
