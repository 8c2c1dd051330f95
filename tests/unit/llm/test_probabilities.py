"""P(true) from the tokens that a model could have written."""

from __future__ import annotations

import math

import pytest

from abcdlink.llm.reply import FORMS, WIDTH, Token, probabilities_of, tokens_of


def token(written: str, alternatives: dict[str, float] | None = None) -> Token:
    return Token(written.encode(), {written: 1.0} if alternatives is None else alternatives)


def tokens(*pieces: str | tuple[str, dict[str, float]]) -> list[Token]:
    return [token(piece) if isinstance(piece, str) else token(*piece) for piece in pieces]


def told(value, *pieces):
    written = tokens(*pieces)
    return probabilities_of(b"".join(t.written for t in written).decode(), value, written)


YES = {"a": True}


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (('{"a":', ("true", {"true": 0.6, "false": 0.2}), "}"), 0.75),
        (('{"a":', (" true", {" true": 0.6, "true": 0.1, " false": 0.2, "false": 0.1}), "}"), 0.7),
        (('{"a": ', ("true", {"true": 0.3, "null": 0.4, "false": 0.3}), "}"), 0.5),
        (('{"a"', (": true", {": true": 0.4, ":true": 0.2, ": false": 0.3, ":": 0.1}), "}"), 2 / 3),
        (('{"a', ('":true', {'":true': 0.4, '":false': 0.4, '" :': 0.2}), "}"), 0.5),
        (('{"a": ', ("t", {"t": 0.8, "f": 0.2}), "rue", "}"), 0.8),
        (('{"a": ', ("tr", {"tr": 0.5, "true": 0.2, "fal": 0.3}), ("ue", {"ue": 1.0}), "}"), 0.7),
        (('{"a": ', ("true}", {"true}": 0.5, "true": 0.1, "false}": 0.2, "trues": 0.2})), 0.75),
        (("{'a': ", ("True", {"True": 0.5, "true": 0.1, "False": 0.2}), "}"), 0.75),
        (('{"a": ', ("true", {"true": 0.6, '"true': 0.2, "false": 0.2}), "}"), 0.75),
        (("{", '"', "a", '"', ":", " ", ("true", {"true": 0.9, "false": 0.1}), "}", "<|im_end|>"), 0.9),
    ],
)
def test_both_words_sum_over_all_tokens_that_start_them(pieces, expected):
    assert told(YES, *pieces) == {"a": pytest.approx(expected)}


def test_every_key_of_a_listwise_answer_has_its_own_probability():
    written = tokens(
        "<think>Is é",
        '"11": true?</think>\n',
        '{"',
        "é11",
        '":',
        (" true", {" true": 0.9, " false": 0.1}),
        ', "4": ',
        ("false", {"true": 0.25, "false": 0.75}),
        "}",
    )
    raw = b"".join(t.written for t in written).decode()
    assert probabilities_of(raw, {"é11": True, "4": False}, written) == {"é11": 0.9, "4": 0.25}


def test_leading_text_that_only_the_tokens_have_does_no_harm():
    written = tokens("<think>hm</think>", '{"a": ', ("false", {"true": 0.1, "false": 0.9}), "}", "<eos>")
    assert probabilities_of('{"a": false}', {"a": False}, written) == {"a": pytest.approx(0.1)}


def test_a_token_that_ends_inside_a_character_counts_in_bytes():
    written = [
        Token(b'{"\xc3', {'{"': 1.0}),
        Token(b'\xa9": ', {"x": 1.0}),
        token("true", {"true": 0.8, "false": 0.2}),
        token("}"),
    ]
    assert probabilities_of('{"é": true}', {"é": True}, written) == {"é": 0.8}


@pytest.mark.parametrize(("word", "other"), [("true", False), ("false", True)])
def test_an_unlisted_word_gives_p_true_only_within_narrow_bounds(word, other):
    sure = {word: 0.97, "null": 0.02, "0": 0.001}
    told_sure = told({"a": word == "true"}, '{"a": ', (word, sure), "}")["a"]
    bound = FORMS * 0.001
    worst = bound / (0.97 + bound)
    assert told_sure == pytest.approx(worst / 2 if other else 1 - worst / 2)
    assert worst <= WIDTH
    unsure = {word: 0.5, "null": 0.1, "0": 0.1}
    assert told({"a": word == "true"}, '{"a": ', (word, unsure), "}") == {}


def test_the_remaining_mass_also_bounds_the_unlisted_word():
    left = told(YES, '{"a": ', ("true", {"true": 0.99}), "}")["a"]
    assert left == pytest.approx(1 - 0.01 / 2)
    assert told(YES, '{"a": ', ("true", {"true": 0.9}), "}") == {}


def test_a_written_token_that_is_not_among_the_most_probable_bounds_nothing():
    listed = {"null": 0.4, "0": 0.3, "true": 0.001}
    assert told(YES, '{"a": ', ("true", listed), "}") == {}


@pytest.mark.parametrize(
    ("value", "pieces"),
    [
        (YES, ('{"a": ', ("true", {"null": 0.9}), "}")),
        ({"a": False}, ('{"a": ', ("true", {"true": 0.5, "false": 0.5}), "}")),
        ({}, ('{"a": ', ("true", {"true": 0.5, "false": 0.5}), "}")),
        (YES, ('{"a": ', ("true", {"true": 0.5, "false": 0.5}), ', "a": ', ("true", {"true": 1.0, "false": 0}), "}")),
        (YES, ('{"a": ', ("1", {"true": 0.5, "false": 0.5}), "}")),
    ],
)
def test_undeterminable_probabilities_are_absent(value, pieces):
    assert told(value, *pieces) == {}


def test_tokens_that_do_not_match_the_text_give_nothing():
    assert probabilities_of('{"a": true}', YES, tokens("something else")) == {}


def test_without_tokens_there_are_no_probabilities():
    assert probabilities_of('{"a": true}', YES, ()) is None


def test_log_probabilities_become_probabilities_and_the_written_token_is_an_alternative():
    other = {"token": "false", "bytes": None, "logprob": math.log(0.25)}
    written = {"token": "true", "bytes": [116, 114, 117, 101], "logprob": math.log(0.5), "top_logprobs": [other]}
    (read,) = tokens_of({"content": [written]})
    assert read.written == b"true"
    assert read.alternatives == {"true": pytest.approx(0.5), "false": pytest.approx(0.25)}


@pytest.mark.parametrize(
    "logprobs",
    [
        None,
        {"content": None},
        {"content": []},
        {"tokens": ["old"], "token_logprobs": [-1.0]},
        {"content": [{"token": "true", "bytes": None, "logprob": None, "top_logprobs": None}]},
        {"content": [{"token": None, "bytes": None, "logprob": -1.0, "top_logprobs": None}]},
        {"content": ["true"]},
    ],
)
def test_unreadable_log_probabilities_are_none(logprobs):
    assert tokens_of(logprobs) == ()
