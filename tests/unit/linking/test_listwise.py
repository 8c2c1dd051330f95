"""The listwise linker, and what all set-ups share: outcomes, retries, order of the prompt."""

import json
from itertools import pairwise

import pytest

from abcdlink.linking.records import Setup
from abcdlink.llm.records import Outcome
from tests.helpers.fake_llm import error, says
from tests.helpers.linking import (
    DOMAIN,
    SETUPS,
    TOO_LONG,
    A,
    B,
    agreed,
    approach,
    corpus_of,
    decide,
    numbered_document,
    shown,
)

SMALL = corpus_of(numbered_document("a", 3), numbered_document("b", 2))
OFFERED = {"a0": ("b1", "b0"), "a2": ("b0", "b1")}
REFUSING = [
    (says(None, finish="content_filter"), Outcome.REFUSED),
    (says('{"b1": tr', finish="length"), Outcome.TRUNCATED),
    (says('{"related": "maybe", "b0": 1, "b1": "no"}'), Outcome.INVALID),
    (says('{"b7": true}'), Outcome.INVALID),
    (says("{}"), Outcome.MISSING_IDS),
    (error(500), Outcome.FAILED),
    (TOO_LONG, Outcome.TOO_LONG),
]


def yes(request, form="{}"):
    """Say yes to every question."""
    return says(form.replace("{}", json.dumps(agreed(request.schema))))


@pytest.mark.parametrize("setup", SETUPS)
@pytest.mark.parametrize(("answer", "outcome"), REFUSING)
def test_an_unanswered_source_is_unknown_never_false(isolated_home, setup, answer, outcome):
    decisions, _ = decide(isolated_home, approach(setup), OFFERED, answer, corpus=SMALL)
    assert [d.source for d in decisions] == ["a0", "a2"]
    for decision in decisions:
        assert (decision.outcome, decision.targets) == (outcome, ())
        assert decision.unknown == decision.offered
        assert decision.detail


@pytest.mark.parametrize("setup", SETUPS)
@pytest.mark.parametrize(
    ("form", "outcome"),
    [
        ("{}", Outcome.OK),
        ("hm</think> {}", Outcome.REPAIRED),
    ],
)
def test_an_answered_source_has_no_unknown_ids(isolated_home, setup, form, outcome):
    decisions, _ = decide(isolated_home, approach(setup), OFFERED, lambda r: yes(r, form), corpus=SMALL)
    assert [(d.targets, d.unknown, d.outcome) for d in decisions] == [(ids, (), outcome) for ids in OFFERED.values()]


@pytest.mark.parametrize("setup", SETUPS)
def test_a_source_without_candidates_is_decided_without_a_question(isolated_home, setup):
    offered = {"a0": (), "a1": tuple(B.position)}
    decisions, asked = decide(isolated_home, approach(setup), offered, yes)
    assert len(asked) == (20 if setup is Setup.PAIRWISE else 1)
    assert [(d.source, d.targets, d.outcome) for d in decisions] == [
        ("a0", (), Outcome.OK),
        ("a1", offered["a1"], Outcome.OK),
    ]
    assert decide(isolated_home, approach(setup), {}) == ([], [])


@pytest.mark.parametrize("setup", SETUPS)
def test_all_questions_about_a_pair_share_the_text_before_the_source_sentence(isolated_home, setup):
    ids = tuple(B.position)
    offered = {s.id: ids if setup is Setup.LLM_ONLY else ids[:3] for s in A.sentences}
    _, asked = decide(isolated_home, approach(setup), offered)
    prompts = [request.prompt for request in asked]
    assert len(prompts) == (36 if setup is Setup.PAIRWISE else 12)
    for before, after in pairwise(prompts):
        common = next(i for i, (x, y) in enumerate(zip(before, after, strict=False)) if x != y)
        assert common > before.index("\nSource sentence: [a", before.index("Document B (news report):\n[b0]"))
    assert all(shown(request, d) == list(d.position) for request in asked for d in (A, B))
    # The questions about one source sentence are next to each other.
    sources = [request.prompt.rpartition("Source sentence: [")[2].split("]")[0] for request in asked]
    assert sources == sorted(sources, key=list(A.position).index)


@pytest.mark.parametrize("setup", SETUPS)
def test_the_static_part_of_the_domain_is_the_first_message(isolated_home, setup):
    _, asked = decide(isolated_home, approach(setup), OFFERED)
    systems = {request.body["messages"][0]["content"] for request in asked}
    assert len(systems) == 1
    static = systems.pop()
    assert DOMAIN.link_description in static
    assert not any(sentence.text in static for d in (A, B) for sentence in d.sentences)
    assert [m["role"] for m in asked[0].body["messages"]] == ["system", "user"]


def test_targets_have_their_true_ids_in_the_retrievers_order(isolated_home):
    answer = says('{"b2": true, "b7": false, "b5": true}')
    decisions, asked = decide(isolated_home, approach(), {"a1": ("b7", "b5", "b2")}, answer)
    assert [(d.source, d.targets, d.unknown, d.outcome) for d in decisions] == [("a1", ("b5", "b2"), (), Outcome.OK)]
    assert (decisions[0].approach, decisions[0].scores) == ("bm25@3+llm-listwise-4", {})
    assert asked[0].schema["required"] == ["b2", "b5", "b7"]  # document order, which reveals nothing about the ranking
    assert asked[0].schema["additionalProperties"] is False
    assert {kind["type"] for kind in asked[0].schema["properties"].values()} == {"boolean"}


def test_missing_ids_alone_are_asked_again_once_and_then_unknown(isolated_home):
    script = says('{"b1": true}'), says('{"b3": false}')
    decisions, asked = decide(isolated_home, approach(), {"a0": ("b1", "b2", "b3")}, *script)
    assert [request.schema["required"] for request in asked] == [["b1", "b2", "b3"], ["b2", "b3"]]
    assert decisions[0].targets == ("b1",)
    assert decisions[0].unknown == ("b2",)
    assert decisions[0].outcome is Outcome.MISSING_IDS


@pytest.mark.parametrize("setup", SETUPS)
def test_an_answer_without_ids_is_retried_with_another_seed(isolated_home, setup):
    corpus = corpus_of(numbered_document("a", 1), numbered_document("b", 1))
    decisions, asked = decide(isolated_home, approach(setup), {"a0": ("b0",)}, says("{}"), yes, corpus=corpus)
    assert (decisions[0].targets, decisions[0].outcome) == (("b0",), Outcome.OK)
    assert len({request.body["seed"] for request in asked}) == len(asked) == 2


def test_unexpected_ids_are_dropped_and_counted_and_known_ones_kept(isolated_home):
    answer = says('{"b1": true, "b2": false, "b9": true}')
    decisions, asked = decide(isolated_home, approach(), {"a0": ("b1", "b2")}, answer)
    assert (decisions[0].targets, decisions[0].unknown, decisions[0].outcome) == (("b1",), (), Outcome.INVALID)
    assert "1 not offered" in decisions[0].detail
    assert len(asked) == 1


def test_an_overlong_question_is_shortened_once(isolated_home):
    answer = says('{"b1": true, "b15": false}')
    decisions, asked = decide(isolated_home, approach(), {"a9": ("b1", "b15")}, TOO_LONG, answer)
    assert decisions[0].targets == ("b1",)
    assert shown(asked[1], A) == ["a6", "a7", "a8", "a9", "a10", "a11"]
    assert shown(asked[1], B) == ["b0", "b1", "b2", "b14", "b15", "b16"]
    assert asked[1].prompt.count("\n[...]\n") == 3  # before a6, between b2 and b14, after b16

    decisions, asked = decide(isolated_home / "again", approach(), {"a9": ("b1",)}, TOO_LONG)
    assert len(asked) == 2
    assert (decisions[0].outcome, decisions[0].unknown) == (Outcome.TOO_LONG, ("b1",))


def test_ids_missing_from_a_shortened_question_are_asked_again_on_shortened_documents(isolated_home):
    script = TOO_LONG, says('{"b1": true}'), says('{"b15": true}')
    decisions, asked = decide(isolated_home, approach(), {"a9": ("b1", "b15")}, *script)
    assert (decisions[0].targets, decisions[0].outcome) == (("b1", "b15"), Outcome.OK)
    assert shown(asked[2], B) == ["b14", "b15", "b16"]
