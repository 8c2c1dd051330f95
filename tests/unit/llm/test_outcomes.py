"""Every way in which an answer can go wrong ends in its own outcome, and never in "no link"."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.llm.client import LLM
from abcdlink.llm.parsing import parse
from abcdlink.llm.records import Outcome
from tests.helpers.fake_llm import FakeLLM, error, says
from tests.helpers.llm_batch import SCHEMA, question

GOOD = {"11": True, "4": False}
TABLE = [
    # valid JSON that fits the schema
    (says('{"11": true, "4": false}'), Outcome.OK, GOOD),
    (says('{"4":false,"11":true}'), Outcome.OK, GOOD),
    (says('\n\n  {\n\t"11" : true ,\r\n "4" : false }\n'), Outcome.OK, GOOD),
    (says('{"\\u0031\\u0031": true, "4": false}'), Outcome.OK, GOOD),
    # a harmless way of writing
    (says('<think>The first.</think>{"11": true, "4": false}'), Outcome.REPAIRED, GOOD),
    (says('The first.</think>\n{"11": true, "4": false}'), Outcome.REPAIRED, GOOD),
    (says('<think>{"11": false, "4": true}</think>{"11": true, "4": false}'), Outcome.REPAIRED, GOOD),
    (says('<think>a</think>b</think>{"11": true, "4": false}'), Outcome.REPAIRED, GOOD),
    (says('```json\n{"11": true, "4": false}\n```'), Outcome.REPAIRED, GOOD),
    (says('```\n{"11": true, "4": false}```'), Outcome.REPAIRED, GOOD),
    (says('Here it is:\n```JSON\n{"11": true, "4": false}\n```\nDone.'), Outcome.REPAIRED, GOOD),
    (says('I don\'t doubt it:\n```json\n{"11": true, "4": false}\n```\nIt\'s done.'), Outcome.REPAIRED, GOOD),
    (says('{"11": true, "4": false,}'), Outcome.REPAIRED, GOOD),
    (says('{"11": true, "4": false ,\n}'), Outcome.REPAIRED, GOOD),
    (says("{'11': True, '4': False}"), Outcome.REPAIRED, GOOD),
    (says("{11: True, 4: False}"), Outcome.REPAIRED, GOOD),
    (says('{"11": True, "4": False}'), Outcome.REPAIRED, GOOD),
    (says('{"11": true, "11": true, "4": false}'), Outcome.REPAIRED, GOOD),
    (says('Answer: {"11": true, "4": false}.'), Outcome.REPAIRED, GOOD),
    (says('\ufeff{"11": true, "4": false}'), Outcome.REPAIRED, GOOD),
    # cut off
    (says('{"11": true, "4": false}', finish="length"), Outcome.TRUNCATED, None),
    (says('{"11": true, "4": fal'), Outcome.TRUNCATED, None),
    (says('{"11": true, "4":'), Outcome.TRUNCATED, None),
    (says('{"11": true, '), Outcome.TRUNCATED, None),
    (says('{"11'), Outcome.TRUNCATED, None),
    (says("{"), Outcome.TRUNCATED, None),
    (says('```json\n{"11": true'), Outcome.TRUNCATED, None),
    (says("<think>The first one says"), Outcome.TRUNCATED, None),
    (says('<think>{"11": false, "4": false}'), Outcome.TRUNCATED, None),
    (says("", finish="length"), Outcome.TRUNCATED, None),
    # an offered id missing
    (says('{"11": true}'), Outcome.MISSING_IDS, {"11": True}, "1 not answered: '4'"),
    (says('{"4": false}'), Outcome.MISSING_IDS, {"4": False}),
    (says("{}"), Outcome.MISSING_IDS, {}),
    (says("```{'4': False}```"), Outcome.MISSING_IDS, {"4": False}),
    # ids that were not offered, two values, two objects, other types
    (says('{"11": true, "4": false, "99": true, "98": true}'), Outcome.INVALID, GOOD, "2 not offered: '99', '98'"),
    (says('{"11": true, "5": false}'), Outcome.INVALID, {"11": True}),
    (says('{"11": true, "11": false, "4": false}'), Outcome.INVALID, None, "'11' appears twice"),
    (says('{"11": true, "4": false}{"11": true, "4": false}'), Outcome.INVALID, None, "2 objects"),
    (says('{"11": true}\n{"4": false}'), Outcome.INVALID, None, "2 objects"),
    (says('[{"11": true, "4": false}]'), Outcome.INVALID, None, "inside something else"),
    (says('{"11": "true", "4": "false"}'), Outcome.INVALID, None, "11: 'true' is not of type 'boolean'"),
    (says('{"11": 1, "4": 0}'), Outcome.INVALID, None, "11: 1 is not of type 'boolean'"),
    (says('{"11": null, "4": null}'), Outcome.INVALID, None, "11: None is not of type 'boolean'"),
    (says('{"11": "yes", "4": "no"}'), Outcome.INVALID, None),
    (says('{"11": {"related": true}, "4": {"related": false}}'), Outcome.INVALID, None),
    (says('{"links": ["11"]}'), Outcome.INVALID, {}),
    (says('["11"]'), Outcome.INVALID, None),
    (says("[]"), Outcome.INVALID, None),
    (says("11"), Outcome.INVALID, None),
    (says("true"), Outcome.INVALID, None, "no JSON object"),
    (says("false"), Outcome.INVALID, None),
    (says("null"), Outcome.INVALID, None, "no JSON object"),
    (says("None"), Outcome.INVALID, None),
    (says("No."), Outcome.INVALID, None),
    (says("There are no links."), Outcome.INVALID, None, "no JSON object"),
    (says("11: true, 4: false"), Outcome.INVALID, None),
    (says("- 11: true\n- 4: false"), Outcome.INVALID, None),
    (says("<answer><id>11</id></answer>"), Outcome.INVALID, None),
    (says('{"11": true; "4": false}'), Outcome.INVALID, None),
    (says('{"11" true, "4" false}'), Outcome.INVALID, None),
    (says("{11: true, 4: fal}"), Outcome.INVALID, None, "no valid JSON object"),
    (says('{"11": yes, "4": no}'), Outcome.INVALID, None),
    (says('{"11": true "4": false}'), Outcome.INVALID, None),
    (says('{"11": NaN, "4": false}'), Outcome.INVALID, None, "NaN"),
    (says('{"11": true, "4": false} or {"11": false, "4": false}'), Outcome.INVALID, None),
    (says("{{}}"), Outcome.INVALID, None),
    (says("\x00\x01"), Outcome.INVALID, None),
    (says("{'11': True, '11': False, '4': True}"), Outcome.INVALID, None, "'11' appears twice"),
    (says('{"11": true, "4": false}}'), Outcome.INVALID, None, "inside something else"),
    (says("{\"a\": 'it's here'}"), Outcome.INVALID, None, "malformed"),
    (says("[" * 100_000), Outcome.INVALID, None, "no JSON object"),
    (says('{"a":' * 100_000 + "1" + "}" * 100_000), Outcome.INVALID, None, "no valid JSON object"),
    (says(" \n"), Outcome.INVALID, None, "empty"),
    (says("<think>hm</think>"), Outcome.INVALID, None, "empty"),
    # no answer, because of a filter or the model
    (says(""), Outcome.INVALID, None, "empty"),
    (says(None), Outcome.INVALID, None),
    (says(None, finish="content_filter"), Outcome.REFUSED, None),
    (says("", finish="content_filter"), Outcome.REFUSED, None),
    (says('{"11": false, "4": false}', finish="content_filter"), Outcome.REFUSED, None),
    (says(None, refusal="I cannot judge this."), Outcome.REFUSED, None),
    (says("I'm sorry, but I can't help with that."), Outcome.REFUSED, None),
    (says("As an AI, I do not judge papers."), Outcome.REFUSED, None),
    (says("I\u2019m sorry."), Outcome.REFUSED, None),
    (says("Sorry, no."), Outcome.REFUSED, None),
    (says("We must decline this request."), Outcome.REFUSED, None),
    (says("Unfortunately I am unable to answer."), Outcome.REFUSED, None),
    (says("<think>is it allowed?</think>I cannot assist with this."), Outcome.REFUSED, None),
    # the server: test_patience.py and test_replies.py have its other errors
    (error(400), Outcome.FAILED, None),
    (error(413), Outcome.TOO_LONG, None),
]


@pytest.fixture(scope="module")
def server():
    """One server that answers question n with row n of the table."""
    with FakeLLM(lambda request: TABLE[int(request.prompt)][0]) as server:
        yield server


@pytest.fixture(scope="module")
def llm(server, tmp_path_factory):
    return LLM(server.settings(tmp_path_factory.mktemp("home")), sleep=lambda _: None)


@pytest.mark.parametrize("row", range(len(TABLE)))
def test_every_reply_ends_in_its_outcome_is_kept_raw_and_never_becomes_no_link(llm, server, row):
    response, outcome, value, *reasons = TABLE[row]
    answer = llm.ask(question(str(row)))
    assert (answer.outcome, answer.value) == (outcome, value)
    assert answer.outcome.answered == (outcome in (Outcome.OK, Outcome.REPAIRED))
    assert bool(answer.detail) != answer.outcome.answered
    assert all(reason in answer.detail for reason in reasons)
    if response.status == 200:
        assert answer.raw == (json.loads(response.body)["choices"][0]["message"]["content"] or "")
        times = 2 if outcome is Outcome.TRUNCATED else 1
        assert answer.usage.calls == sum(request.prompt == str(row) for request in server.questions) == times
    if not answer.outcome.answered and outcome is not Outcome.INVALID:
        assert set(answer.value or {}) < set(SCHEMA["properties"]), "something was answered that nobody said"
    if outcome is not Outcome.FAILED:
        assert llm.ask(question(str(row))) == answer.model_copy(update={"from_cache": True}), "kept, and complete"


def test_the_table_covers_every_outcome():
    assert {outcome for _, outcome, *_ in TABLE} == set(Outcome)


def listwise(*ids: str) -> dict:
    return {
        "type": "object",
        "properties": {name: {"type": "boolean"} for name in ids},
        "required": list(ids),
        "additionalProperties": False,
    }


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


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ('{"targets": ["1"]}', "1 not answered: 'sentence'"),
        ('{"sentence": "a", "targets": ["1", 2]}', "targets/1: 2 is not of type 'string'"),
        ('{"sentence": "\\ud800"}', ""),
    ],
)
def test_a_missing_field_a_nested_value_or_half_a_character_is_invalid(raw, problem):
    parsed = parse(raw, SENTENCE)
    assert (parsed.outcome, parsed.value) == (Outcome.INVALID, None)
    assert problem in parsed.detail


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
    assert parse(raw, SCHEMA).outcome in set(Outcome)
