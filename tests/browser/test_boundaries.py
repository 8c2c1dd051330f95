"""A person checks the sentence boundaries of two documents by mouse and keyboard."""

from __future__ import annotations

import secrets

import pytest
from playwright.sync_api import Page, expect

from abcdlink.boundaries import AskedDocument
from abcdlink.corpus.records import Document
from labelstudio_config.client import Client
from labelstudio_config.pages import title_of
from labelstudio_config.pages.boundaries import boundary_project, boundary_tasks, segmentations_in
from labelstudio_config.projects import push_tasks
from tests.browser.window import close_guidelines, close_window, picture
from tests.helpers.builders import document
from tests.helpers.pulls import read_project

ATTACK = "<img src=x onerror=alert(1)> {{idx}} $doc_title &amp; <b>bold</b>"
SIZE = 60


def long_document(name: str) -> Document:
    texts = [
        "The bridge was closed by Capt.",
        "J. Lindqvist on Monday.",
        "Share this article",
        "It is old. It will open soon.",
    ]
    texts += [
        f"Sentence number {n} of a long document tells what was decided and what it costs." for n in range(SIZE - 5)
    ]
    return document(name, [*texts, ATTACK], "s{n}")


DOCUMENTS = {name: long_document(name) for name in ("one", "two")}
ASKED = [AskedDocument(key=f"key-{name}", document=name) for name in DOCUMENTS]


@pytest.fixture
def run(page: Page, client: Client) -> str:
    """Push two documents, open the project, and close the instruction; returns the run key."""
    key = f"run-{secrets.token_hex(4)}"
    page.goto(push_tasks(client, boundary_project(key), boundary_tasks(ASKED, DOCUMENTS)).url)
    close_guidelines(page, "Check the sentence boundaries")
    expect(page.locator(".xd-drop input")).to_have_count(SIZE)
    expect(page.locator(".xd-join input")).to_have_count(SIZE - 1)
    return key


def submit(page: Page) -> None:
    page.get_by_role("button", name="Submit current annotation").click()


def test_sentences_are_joined_split_and_left_out(page: Page, client: Client, run: str) -> None:
    assert page.locator(".xd-wrap img").count() == 0
    expect(page.locator(".xd-drop")).to_contain_text(ATTACK)
    page.locator(".xd-join .lsf-choice").nth(0).locator("input").check()
    page.locator(".xd-drop .lsf-choice").nth(2).locator("input").check()
    field = page.locator(".xd-foot textarea, .xd-foot input[name=begins]")
    field.fill("It will open")
    page.keyboard.press("Enter")
    picture(page, "boundaries")
    # Cannot be submitted before someone confirms having read everything.
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Confirm that you read the whole document", exact=False).first).to_be_visible()
    close_window(page)
    page.keyboard.press("a")
    expect(page.locator(".xd-foot input[type=radio]").nth(0)).to_be_checked()
    submit(page)

    expect(page.get_by_text("Document 2 of 2", exact=False).first).to_be_visible()
    expect(page.locator(".xd-wrap input:checked")).to_have_count(0)
    page.locator(".xd-foot input[type=radio]").nth(1).check()
    submit(page)
    expect(page.get_by_text("No More Tasks", exact=False).first).to_be_visible()

    snapshot = read_project(client, title_of(run, "boundaries"), [one.key for one in ASKED])
    pulled = segmentations_in(snapshot, ASKED, DOCUMENTS)
    assert pulled.anomalies == []
    first, second = pulled.segmentations
    assert [(piece.text, piece.kept) for piece in first.pieces[:4]] == [
        ("The bridge was closed by Capt. J. Lindqvist on Monday.", True),
        ("Share this article", False),
        ("It is old.", True),
        ("It will open soon.", True),
    ]
    assert [piece.text for piece in second.pieces] == DOCUMENTS["two"].texts
