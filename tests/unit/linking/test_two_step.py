"""Set-up two-step: the model reasons in words before it decides."""

from __future__ import annotations

import pytest

from abcdlink.corpus import Document, Sentence
from abcdlink.domain import find_domain
from abcdlink.errors import InputError
from abcdlink.linking.linker import linker_for
from abcdlink.linking.records import Scoring, Setup
from abcdlink.llm.client import LLM
from abcdlink.llm.records import Outcome
from tests.helpers.fake_llm import says
from tests.helpers.linking import A, B, approach, corpus_of, decide, document

TWO_STEP = approach(Setup.TWO_STEP)
OFFERED = {"a0": ("b1", "b2")}


def test_thoughts_come_first_and_are_not_part_of_the_decision(isolated_home):
    answer = says('{"thoughts": "b1 says the same, b2 does not.", "b1": true, "b2": false}')
    decisions, asked = decide(isolated_home, TWO_STEP, OFFERED, answer)
    assert (decisions[0].targets, decisions[0].unknown, decisions[0].outcome) == (("b1",), (), Outcome.OK)
    assert list(asked[0].schema["properties"]) == asked[0].schema["required"] == ["thoughts", "b1", "b2"]
    _, plain = decide(isolated_home, approach(), OFFERED, says('{"b1": true, "b2": false}'))
    room = [request.body["max_completion_tokens"] for request in (*asked, *plain)]
    assert room[0] > room[1]
    assert decisions[0].approach == "bm25@3+llm-two-step-4"


def test_an_answer_without_thoughts_counts_and_missing_ids_are_asked_for_again(isolated_home):
    script = says('{"b1": true}'), says('{"thoughts": "hm", "b2": true}')
    decisions, asked = decide(isolated_home, TWO_STEP, OFFERED, *script)
    assert (decisions[0].targets, decisions[0].outcome) == (("b1", "b2"), Outcome.OK)
    assert asked[1].schema["required"] == ["thoughts", "b2"]


def test_a_decision_within_the_thoughts_does_not_count(isolated_home):
    written = [
        ('{"thoughts": "', {}),
        ("'b1': true, no", {}),
        ('", "b1": ', {}),
        ("false", {"true": 0.2, "false": 0.8}),
        (', "b2": ', {}),
        ("true", {"true": 0.7, "false": 0.3}),
        ("}", {}),
    ]
    answer = says("".join(text for text, _ in written), written=written)
    one = approach(Setup.TWO_STEP, scoring=Scoring.PROBABILITY)
    decisions, _ = decide(isolated_home, one, OFFERED, answer)
    assert decisions[0].scores == pytest.approx({"b1": 0.2, "b2": 0.7})


def test_the_key_of_the_thoughts_is_never_a_sentence_id(isolated_home):
    named = Document(id="b", sentences=tuple(Sentence(id=i, text=f"It says {i}.") for i in ("thoughts", "b")))
    answer = says('{"thoughts_": "hm", "thoughts": true, "b": false}')
    decisions, asked = decide(
        isolated_home, TWO_STEP, {"a0": ("thoughts", "b")}, answer, corpus=corpus_of(document("a", 1), named)
    )
    assert decisions[0].targets == ("thoughts",)
    assert asked[0].schema["required"] == ["thoughts_", "thoughts", "b"]
    assert '{"thoughts_": "..."' in asked[0].prompt


def test_without_schemas_the_form_is_described_in_words(isolated_home):
    from abcdlink.llm.request import in_words

    linker = linker_for(find_domain("news"), LLM(), TWO_STEP)
    (piece,) = linker.pieces("a0", ("b1",))
    schema = linker.question(piece, A, B).json_schema
    assert in_words(schema).endswith('{"thoughts": "...", "b1": true or false}')


def test_the_papers_setting_has_no_such_set_up():
    with pytest.raises(InputError, match="paper has no prompts for the set-up two-step"):
        linker_for(find_domain("news@paper"), LLM(), TWO_STEP)
