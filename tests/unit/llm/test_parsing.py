"""Every way in which a model writes its answer, and how it is read."""

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


@pytest.mark.parametrize("raw", ['{"11": true, "4": false}', ' \n{"4":false,\n"11":true}\n'])
def test_json_that_fits_the_schema_is_ok(raw):
    assert parse(raw, TWO) == (Outcome.OK, BOTH, "")


@pytest.mark.parametrize(
    "raw",
    [
        '<think>\n{"11": false}?\n</think>\n{"11": true, "4": false}',
        'so I say yes, no</think>{"11": true, "4": false}',
        'a</think>b</think>{"11": true, "4": false}',
        '```json\n{"11": true, "4": false}\n```',
        '```\n{"11": true, "4": false}\n```',
        'I don\'t doubt it:\n```json\n{"11": true, "4": false}\n```\nIt\'s done.',
        '{"11": true, "4": false,}',
        '{"11": true, "4": false ,\n}',
        "{'11': True, '4': False}",
        '{"11": True, "4": False}',
        "{11: True, 4: False}",
        '{"11": true, "11": true, "4": false}',
    ],
)
def test_a_harmless_way_of_writing_is_repaired_and_flagged(raw):
    assert parse(raw, TWO) == (Outcome.REPAIRED, BOTH, "")


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


@pytest.mark.parametrize(
    "raw",
    ['{"11": true, "4": fal', '{"11": true, "4', "{", '```json\n{"11": true,', '<think>is {"11": true, "4": true}'],
)
def test_a_cut_off_answer_is_truncated_and_never_repaired(raw):
    parsed = parse(raw, TWO)
    assert (parsed.outcome, parsed.value) == (Outcome.TRUNCATED, None)


def test_a_missing_id_leaves_the_others_known():
    parsed = parse('{"11": true}', TWO)
    assert parsed == (Outcome.MISSING_IDS, {"11": True}, "1 not answered: '4'")


def test_missing_ids_in_a_repaired_answer_are_missing_too():
    assert parse("```{'4': False}```", TWO)[:2] == (Outcome.MISSING_IDS, {"4": False})


def test_an_unexpected_id_is_dropped_and_counted():
    parsed = parse('{"11": true, "4": false, "99": true, "98": true}', TWO)
    assert parsed == (Outcome.INVALID, BOTH, "2 not offered: '99', '98'")


def test_an_unexpected_id_together_with_a_missing_one():
    parsed = parse('{"11": true, "99": true}', TWO)
    assert parsed[:2] == (Outcome.INVALID, {"11": True})


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ('{"11": true, "11": false, "4": true}', "'11' appears twice"),
        ("{'11': True, '11': False, '4': True}", "'11' appears twice"),
        ('{"11": true, "4": false}\n{"11": true, "4": false}', "2 objects"),
        ('{"11": true}{"4": false}', "2 objects"),
        ('[{"11": true, "4": false}]', "inside something else"),
        ('{"11": true, "4": false}}', "inside something else"),
        ('{"11": fal, "4": true}', "no valid JSON object"),
        ('{"11": NaN, "4": true}', "NaN"),
        ('{"11": "true", "4": false}', "11: 'true' is not of type 'boolean'"),
        ('{"11": 1, "4": false}', "11: 1 is not of type 'boolean'"),
        ('{"11": null, "4": false}', "11: None is not of type 'boolean'"),
        ("{\"a\": 'it's here'}", "malformed"),
        ("true", "no JSON object"),
        ("null", "no JSON object"),
        ("The first one, I think.", "no JSON object"),
        ("", "empty"),
        (" \n", "empty"),
        ("<think>hm</think>", "empty"),
        ("[" * 100_000, "no JSON object"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "no valid JSON object"),
    ],
)
def test_everything_else_is_invalid_with_a_reason(raw, why):
    parsed = parse(raw, TWO)
    assert (parsed.outcome, parsed.value) == (Outcome.INVALID, None)
    assert why in parsed.detail


def test_a_missing_field_of_another_schema_is_invalid():
    parsed = parse('{"targets": ["1"]}', SENTENCE)
    assert parsed == (Outcome.INVALID, None, "1 not answered: 'sentence'")


def test_the_schema_is_checked_at_every_depth():
    parsed = parse('{"sentence": "a", "targets": ["1", 2]}', SENTENCE)
    assert parsed == (Outcome.INVALID, None, "targets/1: 2 is not of type 'string'")


def test_half_a_character_is_invalid():
    assert parse('{"sentence": "\\ud800"}', SENTENCE).outcome is Outcome.INVALID


@pytest.mark.parametrize(
    "raw",
    [
        "I'm sorry, but I can't help with that.",
        "I\u2019m sorry.",
        "Sorry, no.",
        "As an AI, I do not judge papers.",
        "We must decline this request.",
        "Unfortunately I am unable to answer.",
        "<think>is it allowed?</think>I cannot assist with this.",
    ],
)
def test_a_refusal_in_prose_is_refused(raw):
    assert parse(raw, TWO).outcome is Outcome.REFUSED


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
