"""The annotator's page: progress, navigation to candidates, comments, and styling."""

from __future__ import annotations

import html
import re
import unicodedata
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.corpus.records import Corpus, Document, Pair, Sentence
from abcdlink.domain import find_domain
from abcdlink.judgments import Candidate, Judgment, Pool
from labelstudio_config.pages import EMPTY, STYLE, document_html, guidelines_html, shown, text_html, with_style
from labelstudio_config.pages.annotate import (
    batch_project,
    batch_tasks,
    batch_title,
    candidate_id,
    candidate_of,
    controls_of,
    offered,
)
from tests.helpers.annotation import as_read
from tests.helpers.builders import document
from tests.helpers.pulls import OneProject, pull_batch

RUN = "a-run"


CORPUS = Corpus(
    name="c",
    documents={name: document(name, [f"Text {n}." for n in range(5)], "{name}-{n}") for name in ("a", "b", "x", "y")},
    pairs=[Pair(id="ab", source="a", target="b"), Pair(id="xy", source="x", target="y")],
)


def pool(pair: str, source: int, batch: int = 1) -> Pool:
    candidates = tuple(Candidate(target=f"{pair[1]}-{n}", method="llm") for n in (1, 4))
    return Pool(key=f"{pair}{source}", batch=batch, pair=pair, source=f"{pair[0]}-{source}", candidates=candidates)


def tasks(*pools: Pool) -> dict[str, dict[str, Any]]:
    return batch_tasks(RUN, 1, pools, CORPUS, find_domain("news"))


def test_progress_counts_tasks_in_the_pair_and_pairs_in_the_batch() -> None:
    said = tasks(pool("xy", 3), pool("ab", 4), pool("ab", 0), pool("ab", 2, batch=2))
    assert {key: data["progress"] for key, data in said.items()} == {
        "ab0": "1 of 3 · sentence 1 of 2 in pair 1 of 2",
        "ab4": "2 of 3 · sentence 2 of 2 in pair 1 of 2",
        "xy3": "3 of 3 · sentence 1 of 1 in pair 2 of 2",
    }
    assert list(said) == ["ab0", "ab4", "xy3"]


class Places(HTMLParser):
    """The places that links lead to, and what is focused there."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.to: list[str] = []
        self.places: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "label":
            self.to.append(found["for"] or "")
        elif "id" in found:
            self.places.append(found["id"] or "")


def test_every_candidate_links_to_its_place_in_the_document() -> None:
    data = tasks(pool("ab", 0))["ab0"]
    assert Places(data["jumps_html"]).to == Places(data["doc_b_html"]).places == ["mark-0", "mark-1"]
    assert Places(data["doc_a_html"]).places == []


def pulled(*results: dict[str, Any]) -> list[Judgment]:
    """Pull one annotation that links the first candidate and also holds ``results``."""
    key = pool("ab", 0).key
    link = {"from_name": "link_0", "type": "choices", "value": {"choices": ["Link"]}}
    annotation = as_read(1, 7, [link, *results], "2026-01-01T10:00:00Z")
    data = {"task_key": key, "candidates": [{"id": candidate_id(key, f"b-{n}")} for n in (1, 4)]}

    tasks = [{"id": 1, "data": data, "annotations": [annotation]}]
    server = OneProject(batch_title(RUN, 1), tasks, {7: "ada@example.org"})
    return pull_batch(server, RUN, 1, [pool("ab", 0)]).judgments


def test_the_comment_is_kept_with_each_judgment_of_its_task() -> None:
    other = {"from_name": "link_1", "type": "choices", "value": {"choices": ["No Link"]}}
    comment = {"from_name": "comment", "type": "textarea", "value": {"text": ["two facts, ", "one linked"]}}
    assert [j.comment for j in pulled(other, comment)] == ["two facts, \none linked"] * 2
    assert [j.comment for j in pulled()] == [""]


def test_shared_styles_come_before_those_of_the_page_and_the_config_stays_xml() -> None:
    config = with_style(batch_project(RUN, 1, find_domain("news"), overlap=2).label_config)
    style = ET.fromstring(config).findtext("Style") or ""  # noqa: S314 - our own file
    assert ">" not in style
    assert style.strip().startswith(STYLE.read_text(encoding="utf-8").strip())
    assert len(style.strip()) > len(STYLE.read_text(encoding="utf-8"))


def test_light_and_dark_mode_define_all_our_colours() -> None:
    css = STYLE.read_text(encoding="utf-8")
    light, dark = (
        re.search(rf"{re.escape(place)} {{(.*?)}}", css, re.DOTALL) for place in (":root", '[data-color-scheme="dark"]')
    )
    assert light
    assert dark
    defined = set(re.findall(r"(--xd-[\w-]+):", light[1]))
    ours = set(re.findall(r"(--xd-[\w-]+): #", light[1]))
    assert set(re.findall(r"(--xd-[\w-]+):", dark[1])) == ours
    assert set(re.findall(r"var\((--xd-[\w-]+)", css)) <= defined


def test_candidates_beyond_the_digit_keys_have_their_own_decisions() -> None:
    many = [Sentence(id=f"b-{n}", text=f"Text {n}.") for n in range(13)]
    corpus = CORPUS.model_copy(update={"documents": {**CORPUS.documents, "b": Document(id="b", sentences=tuple(many))}})
    large = pool("ab", 0).model_copy(
        update={"candidates": tuple(Candidate(target=sentence.id, method="llm") for sentence in many)}
    )
    data = batch_tasks(RUN, 1, [large], corpus, find_domain("news"))["ab0"]
    assert [len(data["candidates"]), len(data["more"])] == [10, 3]
    assert [one["id"] for one in offered(data)] == [candidate_id("ab0", f"b-{n}") for n in range(13)]
    names = [controls_of(number) for number in range(13)]
    assert len(set(names)) == 13
    assert [candidate_of(decision) for decision, _ in names] == list(range(13))
    assert [candidate_of(other) for other in ("flag", "link_", "more_x", "cand_1")] == [None] * 4


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


def test_letters_are_shown_in_the_order_that_programs_read_them_in() -> None:
    assert shown("Nobody was \u202etruh\u202c.") == "Nobody was \N{REPLACEMENT CHARACTER}truh\u202c."


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
    assert "<li>\u200f<strong>Link</strong>: الحقيقة" in guidelines_html("- **Link**: الحقيقة نفسها")
    assert text_html("NATO: فائر بريگيڈ") == '<span dir="auto">\u200fNATO: فائر بريگيڈ</span>'
