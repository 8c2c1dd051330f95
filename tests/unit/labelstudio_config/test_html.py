"""Texts as annotators see them: in the direction of their script and never invisible."""

from __future__ import annotations

import html
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.corpus.records import Document, Sentence
from labelstudio_config.pages import EMPTY, document_html, guidelines_html, shown, text_html

INVISIBLE = (
    " \t\n\u00a0\u00ad\u034f\u061c\u115f\u180e\u2000\u200b\u200c\u200d\u200e\u2028\u2060\u2800\u3000\u3164"
    "\ufe0f\ufeff\uffa0"
)
"""Blanks, soft hyphens, joiners, fillers and direction marks."""


@given(st.text(alphabet=INVISIBLE))
def test_an_invisible_text_is_shown_as_an_empty_sentence(text: str) -> None:
    assert shown(text) == EMPTY == "(empty sentence)"


@given(st.text(), st.characters(categories=["L", "N", "P", "Sm", "Sc"]), st.text())
def test_a_visible_text_is_shown_unchanged(before: str, seen: str, after: str) -> None:
    if seen in INVISIBLE:  # Hangul fillers are letters
        return
    assert seen in shown(before + seen + after)


@pytest.mark.parametrize("text", ["*", "\u0301", "\N{THUMBS UP SIGN}", "\x07", "\u06dd", "می\u200cخواهم"])
def test_marks_signs_and_joined_letters_are_kept(text: str) -> None:
    assert shown(text) == text.replace("\x07", "\N{REPLACEMENT CHARACTER}")


@given(st.lists(st.text(), min_size=1, max_size=4), st.booleans())
def test_each_sentence_of_a_document_has_its_own_direction(texts: list[str], marked: bool) -> None:
    sentences = tuple(Sentence(id=str(number), text=text) for number, text in enumerate(texts))
    page = document_html(Document(id="d", sentences=sentences), {"0": "1"} if marked else {})
    assert page.count('<p dir="auto">') == page.count("<p") == len(texts)
    plain = [html.unescape(re.sub("<[^>]*>", "", paragraph)) for paragraph in page.split("</p>")[:-1]]
    assert plain == [("1 " if marked and not n else "") + shown(text) for n, text in enumerate(texts)]


def test_inline_text_and_guidelines_have_their_own_direction() -> None:
    assert unicodedata.bidirectional("ف") == "AL"
    assert text_html("فائر <b>") == '<span dir="auto">فائر &lt;b&gt;</span>'
    assert guidelines_html("فائر").startswith('<div class="xd-guide" dir="auto">')
