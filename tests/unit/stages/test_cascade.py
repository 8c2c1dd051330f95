"""A cascade of two models: the larger one decides where the smaller one is unsure."""

from __future__ import annotations

import json
import threading
from collections import Counter
from contextlib import ExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.errors import InputError
from abcdlink.layout import SYNTHETIC
from abcdlink.linking.records import Approach, ApproachKind, Scoring, Setup
from abcdlink.llm.records import Outcome
from abcdlink.stages.benchmark import run_benchmark
from abcdlink.stages.decide import UNSURE, read_decisions
from abcdlink.stages.estimate import estimate_benchmark
from abcdlink.stages.execution import HERE
from abcdlink.stages.plan import BenchmarkPlan, LLMPlan
from abcdlink.store import open_run
from tests.helpers.fake_llm import FakeLLM, error, says
from tests.helpers.linking import DOMAIN
from tests.helpers.several_llms import SOURCES, TARGETS, asked, gold, tossed, write

PAIRS = 5
MODELS = ("small", "large", "small~large")
LLM = LLMPlan(setups=(Setup.LLM_ONLY,), models=MODELS, scorings=(Scoring.PROBABILITY,))
PLAN = BenchmarkPlan(retrievers=("bm25",), learned=(), rules=(), cutoffs=(1,), llm=LLM)
CASCADE = Approach(
    kind=ApproachKind.LLM, setup=Setup.LLM_ONLY, prompt_mode=4, scoring=Scoring.PROBABILITY, model="small~large"
)


def with_probabilities(chances: dict[str, float]):
    """Return an answer whose tokens have these probabilities."""
    written: list[tuple[str, dict[str, float]]] = []
    for place, (target, chance) in enumerate(chances.items()):
        written += [
            (f"{', ' if place else '{'}{json.dumps(target)}: ", {}),
            ("true" if chance > 0.5 else "false", {"true": chance, "false": 1 - chance}),
        ]
    written.append(("}", {}))
    return says("".join(text for text, _ in written), written=written)


def is_hard(source: str) -> bool:
    """A third of the source sentences are hard for the smaller model."""
    return source.endswith(("1", "p0-s0"))


def small(request):
    source, targets = asked(request)
    if is_hard(source):
        return with_probabilities({target: 0.6 if tossed(source, target) else 0.4 for target in targets})
    return with_probabilities({target: 0.97 if target in gold(source) else 0.02 for target in targets})


def large(request):
    source, targets = asked(request)
    return with_probabilities({target: 0.99 if target in gold(source) else 0.01 for target in targets})


@pytest.fixture
def store(isolated_home):
    run = open_run("r")
    write(run, SYNTHETIC, [f"p{n}" for n in range(PAIRS)])
    return run


@pytest.fixture
def servers(isolated_home):
    with ExitStack() as stack:
        started = {
            name: stack.enter_context(FakeLLM(script, models=(name,)))
            for name, script in {"small": small, "large": large}.items()
        }
        tables = [
            f'[llm.{name}]\nbase_url = "{server.base_url}"\nmodel = "{name}"\nprice_prompt = {price}\n'
            for (name, server), price in zip(started.items(), (1, 20), strict=True)
        ]
        isolated_home.mkdir(exist_ok=True)
        (isolated_home / "abcdlink.toml").write_text("".join(tables))
        yield started


def test_a_cascade_matches_the_larger_model_with_fewer_of_its_calls(store, servers):
    result = run_benchmark(store, DOMAIN, PLAN)
    told = {one.approach.name: one for one in result.approaches}
    names = [f"{model}-only-4-probability" for model in MODELS]
    assert list(told)[-3:] == names
    f1 = [told[name].f1 for name in names]
    assert f1[0] < f1[1] == f1[2] == 1
    spared = result.cascades[names[2]]
    hard = PAIRS + 1
    assert (spared.sources, spared.passed_on_sources) == (PAIRS * SOURCES, hard)
    assert (spared.candidates, spared.passed_on) == (PAIRS * SOURCES * TARGETS, hard * TARGETS)
    assert spared.usage.calls == hard
    assert f"asked about {hard} of {PAIRS * SOURCES} source sentences" in result.notes[-1]
    assert result.usage[names[2]].calls == PAIRS * SOURCES + hard
    assert result.usage[names[2]].cost < result.usage[names[1]].cost
    assert len(servers["small"].questions) == PAIRS * SOURCES, "shared with the small model on its own"
    assert len(servers["large"].questions) == PAIRS * SOURCES + hard


def test_the_larger_model_is_asked_in_one_go_not_pair_by_pair(store, servers):
    """Its server answers once as many questions wait as may be asked at once, more than any one pair has."""
    waiting = threading.Condition()
    arrived: list[str] = []

    def answers_together(request):
        with waiting:
            arrived.append(asked(request)[0].split("-")[0])
            waiting.notify_all()
            assert waiting.wait_for(lambda: len(arrived) >= 4, 120)
        return large(request)

    servers["large"].answer_by(answers_together)
    HERE.decide(store, SYNTHETIC, DOMAIN, [CASCADE])
    assert len(set(arrived[:4])) > 1
    assert Counter(arrived) == {f"p{pair}": 2 if pair == 0 else 1 for pair in range(PAIRS)}


def test_a_plan_may_hold_a_cascade_alone(store, servers):
    HERE.decide(store, SYNTHETIC, DOMAIN, [CASCADE])
    part = read_decisions(store, SYNTHETIC, CASCADE)
    assert all(set(one.targets) == gold(one.source) for one in part.decisions)
    assert part.model == "small~large"
    assert [len(server.questions) for server in servers.values()] == [PAIRS * SOURCES, PAIRS + 1]
    assert {one.approach for one in part.decisions} == {CASCADE.name}


def test_without_an_answer_of_the_larger_model_the_smaller_ones_score_stands(store, servers):
    def refuses(request):
        return error(400, "filtered", code="content_filter")

    servers["large"].answer_by(refuses)
    HERE.decide(store, SYNTHETIC, DOMAIN, [CASCADE])
    for one in read_decisions(store, SYNTHETIC, CASCADE).decisions:
        assert not one.unknown
        assert one.outcome is Outcome.OK
        if is_hard(one.source):
            assert set(one.targets) == {target for target in one.offered if tossed(one.source, target)}


def test_questions_the_smaller_model_cannot_answer_are_passed_on(store, servers):
    servers["small"].answer_by(lambda _: error(400, "filtered", code="content_filter"))
    HERE.decide(store, SYNTHETIC, DOMAIN, [CASCADE])
    part = read_decisions(store, SYNTHETIC, CASCADE)
    assert all(set(one.targets) == gold(one.source) and one.outcome is Outcome.OK for one in part.decisions)
    assert part.cascade.passed_on == part.cascade.candidates


def test_the_estimate_gives_an_upper_bound_for_the_larger_model(store, servers):
    before = estimate_benchmark(store, DOMAIN, PLAN)
    assert before.approaches[CASCADE.name].calls == PAIRS * SOURCES
    HERE.decide(store, SYNTHETIC, DOMAIN, [one for one in LLM.approaches((), ()) if one.model == "small"])
    left = estimate_benchmark(store, DOMAIN, PLAN)
    assert left.approaches[CASCADE.name].calls == PAIRS + 1
    assert "small" not in {name for name, one in left.models.items() if one.calls}


def test_an_unknown_profile_is_refused_before_anything_is_asked(store, servers):
    plan = PLAN.model_copy(update={"llm": LLM.model_copy(update={"models": ("small~nobody",)})})
    with pytest.raises(InputError, match="'nobody': there is no such LLM profile"):
        run_benchmark(store, DOMAIN, plan)
    assert not servers["small"].requests


@given(
    small_says=st.dictionaries(st.sampled_from("abcdef"), st.floats(0, 1)),
    large_says=st.dictionaries(st.sampled_from("abcdef"), st.booleans()),
)
def test_the_larger_model_decides_whatever_it_answered_and_the_smaller_the_rest(small_says, large_says):
    from abcdlink.linking.records import Decision
    from abcdlink.llm.records import Usage
    from abcdlink.stages import decide

    offered = tuple("abcdef")
    first = Decision(approach="s", pair="p", source="x", targets=(), offered=offered, scores=small_says)
    before = decide.DecisionPart(decisions=(first,), usage=Usage(), prompt_hash="", model="s")
    passed_on = tuple(target for target in offered if UNSURE[0] < small_says.get(target, 0.5) < UNSURE[1])
    later = Decision(
        approach="l",
        pair="p",
        source="x",
        targets=tuple(target for target in passed_on if large_says.get(target)),
        offered=passed_on,
        unknown=tuple(target for target in passed_on if target not in large_says),
    )
    (merged,) = decide._merged("c", before, [later])
    for target in offered:
        score = small_says.get(target)
        if target in passed_on and target in large_says:
            score = float(large_says[target])
        assert merged.scores.get(target) == score
        assert (target in merged.targets) == (score is not None and score > 0.5)
        assert (target in merged.unknown) == (score is None)
