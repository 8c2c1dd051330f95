"""Raters read two documents and rate the first by keyboard only, in light and dark mode."""

from __future__ import annotations

import secrets

import pytest
from playwright.sync_api import Page, expect

from abcdlink.corpus.records import Corpus, Document, Pair, PairKind, Sentence
from abcdlink.criteria import rating_settings
from abcdlink.domain import find_domain
from abcdlink.rate import RatedDocument
from labelstudio_config.client import Client
from labelstudio_config.pages.rate import rating_project, rating_tasks
from labelstudio_config.projects import push_tasks
from tests.browser.window import close_guidelines, close_window, picture
from tests.helpers.pulls import pull_ratings

ATTACK = "<img src=x onerror=alert(1)> {{idx}} $doc_b_html &amp; <b>bold</b>"
DOMAIN = find_domain("news")
CRITERIA = rating_settings(DOMAIN).rating
DOCUMENTS = [
    RatedDocument(key="key-one", kind=PairKind.SYNTHETIC, pair="pair-wombat"),
    RatedDocument(key="key-two", kind=PairKind.NATURAL, pair="pair-wombat"),
]


def corpus_of_kind(kind: PairKind, sentences: int) -> Corpus:
    text = "Sentence number {} tells what was decided, by whom, and what it will cost the town in the years to come."
    texts = [text.format(n) for n in range(sentences - 1)]
    documents = {
        name: Document(id=name, sentences=tuple(Sentence(id=str(n), text=t) for n, t in enumerate([first, *texts])))
        for name, first in (("source-bilby", f"{ATTACK} of the {kind.value[0]} source."), ("target-bilby", "A target."))
    }
    pair = Pair(id="pair-wombat", source="source-bilby", target="target-bilby", kind=kind, links={"0": ("0",)})
    return Corpus(name="c", documents=documents, pairs=[pair])


CORPORA = {
    PairKind.SYNTHETIC: corpus_of_kind(PairKind.SYNTHETIC, 8),
    PairKind.NATURAL: corpus_of_kind(PairKind.NATURAL, 150),
}


@pytest.fixture
def run(page: Page, client: Client) -> str:
    """Push two documents, open the project, and close the instruction; returns the run key."""
    key = f"run-{secrets.token_hex(4)}"
    tasks = rating_tasks(DOCUMENTS, CORPORA, DOMAIN)
    page.goto(push_tasks(client, rating_project(key, DOMAIN, CRITERIA, 1), tasks).url)
    guide = page.locator(".lsf-modal-ls .xd-guide")
    for criterion in CRITERIA:
        expect(guide).to_contain_text(criterion.question)
    picture(page, "rating-instruction")
    close_guidelines(page)
    expect(page.locator(".xd-rate input[type=radio]")).to_have_count(5 * len(CRITERIA))
    return key


def test_documents_are_rated_by_keyboard(page: Page, client: Client, run: str) -> None:
    expect(page.locator(".xd-rate .lsf-hint:visible")).to_have_text([f"[{key}]" for key in "12345qwertasdfgzxcvb"])
    for key in ("2", "t", "a"):
        page.keyboard.press(key)
    expect(page.locator(".xd-rate .ant-radio-checked")).to_have_count(3)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text(f"Please rate: {CRITERIA[3].name}")).to_be_visible()
    picture(page, "rating-incomplete")
    assert pull_ratings(client, run, DOCUMENTS, CRITERIA).ratings == []
    close_window(page)
    page.keyboard.press("c")
    page.fill(".xd-foot textarea, .xd-foot input[name=comment]", "Reads as if translated")
    page.keyboard.press("Enter")
    picture(page, "rating-complete")
    page.keyboard.press("Control+Enter")

    # A long document, and a change of mind.
    expect(page.locator(".xd-a")).to_contain_text("of the n source")
    for key in ("1", "5", "r", "s", "z"):
        page.keyboard.press(key)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("No More Tasks", exact=False).first).to_be_visible()

    pulled = pull_ratings(client, run, DOCUMENTS, CRITERIA)
    assert [(r.kind.value, r.value) for r in pulled.ratings] == [
        *(("synthetic", 2), ("synthetic", 5), ("synthetic", 1), ("synthetic", 3)),
        *(("natural", 5), ("natural", 4), ("natural", 2), ("natural", 1)),
    ]
    assert [r.criterion for r in pulled.ratings[:4]] == [criterion.name for criterion in CRITERIA]
    assert [r.comment for r in pulled.ratings] == ["Reads as if translated"] * 4 + [""] * 4
    assert all(r.seconds for r in pulled.ratings)
    assert pulled.anomalies == []


def test_any_text_is_shown_in_light_and_dark_mode(page: Page, run: str) -> None:
    expect(page.locator(".xd-a")).to_contain_text(ATTACK)
    assert page.locator(".xd-wrap img, .xd-wrap mark").count() == 0
    for row in page.locator(".xd-rate .xd-row").all():
        expect(row).to_be_in_viewport(ratio=1)
    expect(page.locator(".xd-foot")).to_be_in_viewport(ratio=1)
    page.keyboard.press("4")
    picture(page, "rating-light")
    page.get_by_role("button", name="Light").click()
    expect(page.locator("html")).to_have_attribute("data-color-scheme", "dark")
    picture(page, "rating-dark")
