"""How the text of an answer is read; test_outcomes.py has the ways in which models write Yes and No."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.llm.parsing import parse
from abcdlink.llm.records import Outcome


def listwise(*ids: str) -> dict:
    return {
        "type": "object",
        "properties": {name: {"type": "boolean"} for name in ids},
        "required": list(ids),
        "additionalProperties": False,
    }


TWO = listwise("11", "4")
BOTH = {"11": True, "4": False}
SENTENCE = {
    "type": "object",
    "properties": {"sentence": {"type": "string"}, "targets": {"type": "array", "items": {"type": "string"}}},
    "required": ["sentence"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        ("{'sentence': 'It\\'s \"here\".'}", 'It\'s "here".'),
        ('{"sentence": "He is True, 11: to his word, }",}', "He is True, 11: to his word, }"),
        ('{"sentence": "one\ntwo"}', "one\ntwo"),
        ('{"sentence": "a \\/ b \\u00e9",}', "a / b é"),
        ('```json\n{"sentence": "Write ```x``` {here} </thinks>"}\n```', "Write ```x``` {here} </thinks>"),
    ],
)
def test_a_repair_leaves_the_text_unchanged(raw, sentence):
    assert parse(raw, SENTENCE) == (Outcome.REPAIRED, {"sentence": sentence}, "")


def test_a_string_that_mentions_thinking_is_not_thinking():
    assert parse('{"sentence": "a </think> b"}', SENTENCE).value == {"sentence": "a </think> b"}


def test_a_missing_id_leaves_the_others_known():
    parsed = parse('{"11": true}', TWO)
    assert parsed == (Outcome.MISSING_IDS, {"11": True}, "1 not answered: '4'")


def test_an_unexpected_id_is_dropped_and_counted():
    parsed = parse('{"11": true, "4": false, "99": true, "98": true}', TWO)
    assert parsed == (Outcome.INVALID, BOTH, "2 not offered: '99', '98'")


def test_a_missing_field_of_another_schema_is_invalid():
    parsed = parse('{"targets": ["1"]}', SENTENCE)
    assert parsed == (Outcome.INVALID, None, "1 not answered: 'sentence'")


def test_the_schema_is_checked_at_every_depth():
    parsed = parse('{"sentence": "a", "targets": ["1", 2]}', SENTENCE)
    assert parsed == (Outcome.INVALID, None, "targets/1: 2 is not of type 'string'")


def test_half_a_character_is_invalid():
    assert parse('{"sentence": "\\ud800"}', SENTENCE).outcome is Outcome.INVALID


# No "<": an id with a thinking tag is read as thinking.
ids = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="<"), min_size=1, max_size=8)
answers = st.dictionaries(ids, st.booleans(), min_size=1, max_size=6)


@given(answers, st.sampled_from(["{}", "```json\n{}\n```", "<think>a {{ b</think>{}", "It is:\n{}\nI hope."]))
def test_any_valid_answer_is_read_whatever_surrounds_it(answer, around):
    parsed = parse(around.replace("{}", json.dumps(answer)), listwise(*answer))
    assert parsed.outcome.answered
    assert parsed.value == answer


@given(st.dictionaries(ids.filter(str.isprintable), st.booleans(), min_size=1, max_size=6))
def test_any_python_literal_is_read(answer):
    parsed = parse(repr(answer), listwise(*answer))
    assert parsed.outcome is Outcome.REPAIRED
    assert parsed.value == answer


@given(answers, st.data())
def test_part_of_an_answer_never_passes_for_the_whole(answer, data):
    whole = json.dumps(answer)
    part = whole[: data.draw(st.integers(0, len(whole) - 1))]
    assert parse(part, listwise(*answer)).value is None


@given(st.text(max_size=200))
def test_no_text_makes_parsing_crash(raw):
    assert parse(raw, TWO).outcome in set(Outcome)
