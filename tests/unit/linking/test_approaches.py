"""Approaches: valid combinations of fields, names, and grids."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.errors import InputError
from abcdlink.linking.records import (
    SAMPLES,
    Approach,
    ApproachKind,
    CutoffRule,
    HowToScore,
    Scoring,
    Setup,
    llm_grid,
    steps,
)
from tests.helpers.linking import approach

ANSWER = HowToScore()
VOTES = HowToScore(scoring=Scoring.VOTES, samples=SAMPLES)
PROBABILITY = HowToScore(scoring=Scoring.PROBABILITY)
THRESHOLD = HowToScore(scoring=Scoring.PROBABILITY, rule=CutoffRule.THRESHOLD)
SCORINGS = (ANSWER, VOTES, PROBABILITY, THRESHOLD)


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"kind": "retriever", "retriever": "bm25", "cutoff": 3}, "bm25@3"),
        ({"kind": "retriever", "retriever": "hybrid", "cutoff": "expected-f1"}, "hybrid@expected-f1"),
        ({"kind": "learned", "retriever": "learned-logistic", "cutoff": 3}, "learned-logistic@3"),
        ({"kind": "llm", "retriever": "hybrid", "cutoff": 7, "prompt_mode": 4}, "hybrid@7+llm-listwise-4"),
        (
            {"kind": "llm", "retriever": "hybrid", "cutoff": 7, "prompt_mode": 2, "setup": "pairwise"},
            "hybrid@7+llm-pairwise-2",
        ),
        ({"kind": "llm", "prompt_mode": 4, "setup": "llm-only"}, "llm-only-4"),
        ({"kind": "llm", "prompt_mode": 4, "setup": "alone"}, "llm-only-4"),  # written by earlier versions
        (
            {"kind": "llm", "retriever": "a/b", "cutoff": 7, "prompt_mode": 4, "scoring": "votes", "samples": 5},
            "a/b@7+llm-listwise-4-votes5",
        ),
        (
            {"kind": "llm", "prompt_mode": 1, "setup": "llm-only", "scoring": "probability", "rule": "threshold"},
            "llm-only-1-probability@threshold",
        ),
    ],
)
def test_an_approach_has_a_name_and_survives_a_round_trip(fields, name):
    made = Approach.model_validate(fields)
    assert made.name == name
    assert Approach.model_validate_json(made.model_dump_json()) == made


LLM = {"kind": "llm", "retriever": "bm25", "cutoff": 3, "prompt_mode": 4}


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"kind": "retriever", "cutoff": 3}, "has no retriever"),
        ({"kind": "retriever", "retriever": "bm25"}, "'bm25@None' has no cutoff"),
        ({"kind": "retriever", "retriever": "bm25", "cutoff": 3, "setup": "llm-only"}, "asks no LLM"),
        ({"kind": "learned", "retriever": "l", "cutoff": 3, "scoring": "votes", "samples": 3}, "asks no LLM"),
        ({"kind": "retriever", "retriever": "bm25", "cutoff": 3, "rule": "gap"}, "asks no LLM"),
        ({**LLM, "prompt_mode": None}, "has no prompt mode"),
        ({**LLM, "cutoff": None}, "has no cutoff"),
        ({**LLM, "cutoff": "threshold"}, "takes the LLM's candidates by a rule"),
        ({**LLM, "setup": "llm-only"}, "is LLM-only"),
        ({**LLM, "setup": "llm-only", "cutoff": None}, "is LLM-only"),
        ({**LLM, "setup": "llm-only", "retriever": ""}, "is LLM-only"),
        ({**LLM, "retriever": ""}, "has no retriever"),
        ({**LLM, "scoring": "votes"}, "votes with one sample"),
        ({**LLM, "samples": 3}, "has several samples"),
        ({**LLM, "scoring": "probability", "samples": 3}, "has several samples"),
        ({**LLM, "rule": "threshold"}, "has no scores"),
        ({**LLM, "model": "a~b"}, "cannot tell where its first model is unsure"),
        ({**LLM, "scoring": "probability", "model": "a~a"}, "needs two different models"),
        ({**LLM, "scoring": "probability", "model": "a~b~c"}, "needs two different models"),
        ({**LLM, "scoring": "probability", "model": "~b"}, "needs two different models"),
    ],
)
def test_incompatible_fields_are_refused(fields, problem):
    with pytest.raises(InputError, match=problem) as refused:
        Approach.model_validate(fields)
    assert refused.value.hint


def test_only_a_number_of_targets_is_k():
    assert approach().k == 3
    for one in (
        approach(Setup.LLM_ONLY),
        Approach(kind=ApproachKind.RETRIEVER, retriever="bm25", cutoff=CutoffRule.GAP),
    ):
        with pytest.raises(InputError, match="has no fixed cutoff"):
            _ = one.k


def test_a_rule_asks_the_same_questions_as_without_it():
    ruled = approach(Setup.PAIRWISE, scoring=Scoring.PROBABILITY, rule=CutoffRule.THRESHOLD)
    assert ruled.asked == approach(Setup.PAIRWISE, scoring=Scoring.PROBABILITY)
    assert ruled.asked.asked == ruled.asked


def test_a_grid_holds_every_combination_once():
    grid = llm_grid(("bm25", "hybrid", "bm25"), (3, 7), tuple(Setup), (1, 2, 3, 4), SCORINGS)
    names = [one.name for one in grid]
    assert len(set(names)) == len(names) == 4 * 4 * (3 * 2 * 2 + 1)
    assert names.count("llm-only-4-votes5") == 1
    assert "hybrid@7+llm-pairwise-2-probability@threshold" in names


def test_a_grid_without_a_required_list_is_refused_and_llm_only_needs_no_retriever():
    assert [one.name for one in llm_grid((), (), (Setup.LLM_ONLY,), (4,))] == ["llm-only-4"]
    for lists, what in (
        (((), (3,), (Setup.LISTWISE,), (4,)), "retriever"),
        ((("bm25",), (), (Setup.LISTWISE, Setup.LLM_ONLY), (4,)), "cutoff"),
        ((("bm25",), (3,), (), (4,)), "set-up"),
        ((("bm25",), (3,), (Setup.LISTWISE,), ()), "prompt mode"),
        ((("bm25",), (3,), (Setup.LISTWISE,), (4,), ()), "scoring"),
    ):
        with pytest.raises(InputError, match=f"at least one {what}"):
            llm_grid(*lists)


some = {
    "retrievers": st.lists(st.sampled_from(["bm25", "hybrid", "jaccard"]), min_size=1, max_size=4),
    "cutoffs": st.lists(st.integers(1, 9), min_size=1, max_size=3),
    "setups": st.lists(st.sampled_from(list(Setup)), min_size=1, max_size=4),
    "modes": st.lists(st.integers(1, 4), min_size=1, max_size=4),
    "scorings": st.lists(st.sampled_from(SCORINGS), min_size=1, max_size=4),
}


@given(**some, parts=st.integers(0, 4))
def test_every_part_of_a_question_is_one_step_and_equal_prompts_stay_together(
    retrievers, cutoffs, setups, modes, scorings, parts
):
    grid = llm_grid(retrievers, cutoffs, setups, modes, scorings)
    assert grid == llm_grid(retrievers, cutoffs, setups, modes, scorings)
    assert len({one.name for one in grid}) == len(grid)
    done = [(one.name, part) for one, part in steps(grid, parts)]
    assert len(set(done)) == len(done)
    assert set(done) == {(one.asked.name, part) for one in grid for part in range(parts)}
    prompts = [(one.setup, one.prompt_mode, part) for one, part in steps(grid, parts)]
    for kind in (lambda key: key, lambda key: key[:2]):  # the same prompts on the same part, and the same prompts
        blocks = [
            key
            for key, before in zip(prompts, [None, *prompts], strict=False)
            if before is None or kind(key) != kind(before)
        ]
        assert len({kind(key) for key in blocks}) == len(blocks)
