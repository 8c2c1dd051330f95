"""Plain text before segmentation: entities, and lines that are wrapped or one sentence each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.corpus.plain_text import LineEnds, PlainText, join_lines
from abcdlink.corpus.segmentation import get_segmenter

WRAPPED = "Ten people were killed and\nmore than 100 injured on Wednesday when two\ntrains collided, police said."
UNWRAPPED = WRAPPED.replace("\n", " ")


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        (WRAPPED, UNWRAPPED),
        (WRAPPED + "\n\n" + WRAPPED, UNWRAPPED + "\n" + UNWRAPPED),
        ("    " + WRAPPED + "\n    " + WRAPPED, UNWRAPPED + "\n" + UNWRAPPED),  # an indented line begins a paragraph
        ("- " + WRAPPED + "\n- " + WRAPPED, "- " + UNWRAPPED + "\n- " + UNWRAPPED),
        (
            "1. Ten people were killed and\nmore were hurt.\n2. Nobody ran.",
            "1. Ten people were killed and more were hurt.\n2. Nobody ran.",
        ),
        (WRAPPED + "\nThe cause is unknown (see\nTable 1).", UNWRAPPED + "\nThe cause is unknown (see Table 1)."),
        ("Two trains collide\nBy Jane Doe\n" + WRAPPED, "Two trains collide\nBy Jane Doe\n" + UNWRAPPED),
        (
            WRAPPED + "\n| Train | Injured |\n| night express | 70 |\n| goods | 31 |\n" + WRAPPED,
            UNWRAPPED + "\n| Train | Injured |\n| night express | 70 |\n| goods | 31 |\n" + UNWRAPPED,
        ),
        (
            "the mayor of the city of Upper\nWexmoor, who\nhad slept, woke.",
            "the mayor of the city of Upper Wexmoor, who had slept, woke.",
        ),
        (
            "消防队在周一的清晨从矿井中\n救出了三名矿工他们在地下\n被困了九个小时。",
            "消防队在周一的清晨从矿井中救出了三名矿工他们在地下被困了九个小时。",
        ),
    ],
)
def test_wrapped_lines_are_joined(text, joined):
    assert join_lines(text) == joined


@pytest.mark.parametrize(
    "text",
    [
        "The bridge reopened.\nNobody was hurt.\nIt rained.",
        "The bridge reopened.\nnobody was hurt.\nit rained.",
        "He asked why.\n“Nobody knows.”\nShe left!",
        "Bridge reopened\nMayor resigned after vote\nRain expected",
        "消防队救出了三名矿工。\n没有人受伤。\n天在下雨。",
        "पुल फिर से खुल गया।\nकिसी को चोट नहीं आई।",
        "One line alone",
        "",
        "\n\n",
        "The list:\n- apples\n- pears",
        "225 g butter, softened\n4 eggs\nzest of 1 lemon\n\n1. Heat the oven and line a small loaf tin with paper.",
    ],
)
def test_lines_that_are_one_sentence_each_are_kept(text):
    assert [line for line in join_lines(text).split("\n") if line] == [line for line in text.split("\n") if line]


def test_the_meaning_of_lines_can_be_forced():
    assert join_lines("One thing.\nAnother thing.", LineEnds.JOIN) == "One thing. Another thing."
    assert join_lines(WRAPPED, LineEnds.KEEP) == WRAPPED
    assert join_lines("One thing\nAnother thing\n\nA third", LineEnds.JOIN) == "One thing Another thing\nA third"


@given(st.text(st.sampled_from("aB .\n-*1)\r\u2028 中。\u0627é\t"), max_size=80), st.sampled_from(LineEnds))
def test_joining_changes_white_space_only(text, lines):
    assert "".join(join_lines(text, lines).split()) == "".join(text.split())


words = st.lists(st.text("abcdefg", min_size=1, max_size=9), min_size=12, max_size=60)


@given(words, st.integers(24, 60))
def test_any_text_wrapped_at_a_width_comes_back_as_one_line(some, width):
    text = "T" + " ".join(some) + "."
    lines = [""]
    for word in text.split():
        lines = [*lines[:-1], f"{lines[-1]} {word}".strip()] if len(lines[-1]) + len(word) < width else [*lines, word]
    assert join_lines("\n".join(lines)) == text


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (
            "<head><title>x<body><p>We <b>met</b> &amp; ran.</p><p>Seven<br/>Two</p><script>a < b</script></body>",
            ["We met & ran.", "Seven", "Two"],
        ),
        ("We met.<!-- draft,\n  not yet --> See <https://a.example>.", ["We met.", "See <https://a.example>."]),
        ("If a < b and c > d, see <x>.", ["If a < b and c > d, see <x>."]),
        ("<p>It says &lt;b&gt; here.</p>", ["It says <b> here."]),
        ("Name the <host>.<br>Ask <ada@a.example>.", ["Name the <host>.", "Ask <ada@a.example>."]),
        ("<p>Nobody closes", ["<p>Nobody closes"]),
    ],
)
def test_html_tags_are_removed_and_other_angle_brackets_stay(text, sentences):
    texts = PlainText(get_segmenter())
    assert texts.document("a", text).texts == sentences
    assert bool(texts.notes()) == (texts.document("a", text, is_linked=True).texts != sentences)


def test_changes_to_texts_are_counted():
    texts = PlainText(get_segmenter())
    assert texts.document("a", WRAPPED).texts == [UNWRAPPED]
    assert texts.document("b", "One.\nTwo.").texts == ["One.", "Two."]
    assert texts.document("c", "A &amp; B are friends.").texts == ["A & B are friends."]
    assert [(note.what.split(",")[0].split(" with ")[-1], note.count, note.examples) for note in texts.notes()] == [
        ("HTML entities", 1, ("c",)),
        ("wrapped lines", 1, ("a",)),
        ("Documents in which the end of a line ends a sentence", 1, ("b",)),
    ]
    untouched = PlainText(get_segmenter(), LineEnds.KEEP, entities=False)
    assert untouched.document("a", "A &amp; B").texts == ["A &amp; B"]
