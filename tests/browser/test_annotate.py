"""An annotator at work: logs in, reads, judges by keyboard only."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from abcdlink.judgments import Label
from labelstudio_config.accounts import sign_up
from labelstudio_config.client import Client, connect
from labelstudio_config.linking import pull_batch, push_batch
from tests.integration.annotation import TEXTS, Run, make_run
from tests.integration.label_studio_server import LabelStudioServer

ATTACK = "<img src=x onerror=alert(1)>"
PASSWORD = "a-password-of-an-annotator"
PICTURES = Path(__file__).resolve().parents[2] / "test-results"


@pytest.fixture
def client(label_studio: LabelStudioServer) -> Client:
    return connect(label_studio.url, label_studio.token)


@pytest.fixture
def page(browser: Browser, client: Client) -> Iterator[Page]:
    """A new annotator's browser window, logged in; fails the test when a page runs what a document says."""
    email = f"ada-{secrets.token_hex(4)}@example.org"
    sign_up(client.invitation(), email, PASSWORD).close()
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    context.set_default_timeout(60_000)
    window = context.new_page()
    alerts: list[str] = []
    window.on("dialog", lambda dialog: (alerts.append(dialog.message), dialog.dismiss()))
    window.goto(f"{client.url}/user/login/")
    window.fill("[name=email]", email)
    window.fill("[name=password]", PASSWORD)
    window.press("[name=password]", "Enter")
    window.wait_for_url(re.compile(r"/(projects/?)?$"))
    yield window
    context.close()
    assert not alerts


def begin(page: Page, client: Client, run: Run) -> None:
    """Open the project where annotators begin, and close the guidelines, which are shown first."""
    page.goto(push_batch(client, run.key, 1, run.pools, run.corpus, run.domain).url)
    guidelines = page.locator(".xd-guide")
    expect(guidelines).to_contain_text("Link")
    page.keyboard.press("Escape")
    expect(guidelines).to_be_hidden()
    expect(page.locator(".xd-row").first).to_be_visible()


def picture(page: Page, name: str) -> None:
    PICTURES.mkdir(exist_ok=True)
    page.screenshot(path=PICTURES / f"{name}.png", animations="disabled")


def test_two_tasks_by_keyboard_only(page: Page, client: Client) -> None:
    run = make_run(tasks=2)
    begin(page, client, run)
    expect(page.locator(".xd-src")).to_contain_text(TEXTS[0])
    for key in ("0", "Shift+Digit1"):
        page.keyboard.press(key)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Candidate 2 is undecided: choose Link or No Link")).to_be_visible()
    picture(page, "undecided")
    assert pull_batch(client, run.key, 1, run.pools).judgments == []
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    page.keyboard.press("u")
    picture(page, "decided")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".xd-src")).to_contain_text(TEXTS[1])
    for key in ("Shift+Digit0", "1", "Shift+Digit2"):
        page.keyboard.press(key)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("No More Tasks", exact=False).first).to_be_visible()
    pulled = pull_batch(client, run.key, 1, run.pools)
    link, no = Label.LINK, Label.NO_LINK
    assert [(j.source, j.target, j.label) for j in pulled.judgments] == [
        *(("sid-dugong-0", "sid-dugong-0", link), ("sid-dugong-0", "sid-dugong-1", no)),
        *(("sid-dugong-0", "sid-dugong-2", link), ("sid-dugong-1", "sid-dugong-0", no)),
        *(("sid-dugong-1", "sid-dugong-1", link), ("sid-dugong-1", "sid-dugong-2", no)),
    ]
    assert [j.flags for j in pulled.judgments] == [("Unsure",)] * 3 + [()] * 3
    assert all(j.seconds for j in pulled.judgments)
    assert pulled.anomalies == []


def test_sentences_show_as_text_whatever_they_hold(page: Page, client: Client) -> None:
    texts = [ATTACK, "https://example.org/not-fetched", "{{idx}} $source_text &amp; <b>bold</b>", " "]
    run = make_run(tasks=1, candidates=4, texts=texts)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    begin(page, client, run)
    expect(page.locator(".xd-src")).to_contain_text(ATTACK)
    for place in (".xd-a p", ".xd-col:nth-child(2) p"):
        expect(page.locator(place)).to_have_count(4)
    for number, text in enumerate([*texts[:3], "(empty sentence)"]):
        expect(page.locator(".xd-row").nth(number)).to_contain_text(f"{number} · {text}")
        expect(page.locator(".xd-col:nth-child(2) mark").nth(number)).to_have_text(f"{number} {text}")
    assert page.locator(".xd-wrap img").count() == 0
    assert not [url for url in asked if "example.org" in url]
    picture(page, "escaped")


def test_long_documents_open_at_the_marked_sentences(page: Page, client: Client) -> None:
    filler = [f"Filler sentence number {number} of a long document, which says nothing." for number in range(150)]
    run = make_run(tasks=1, texts=filler)
    chosen = tuple(
        c.model_copy(update={"target": f"sid-dugong-{n}"})
        for c, n in zip(run.pools[0].candidates, (97, 99, 149), strict=True)
    )
    pools = [run.pools[0].model_copy(update={"source": "sid-dugong-120", "candidates": chosen})]
    begin(page, client, Run(run.key, run.corpus, pools, run.domain))
    picture(page, "long")
    for mark in (page.locator(".xd-a mark"), page.locator(".xd-col:nth-child(2) mark").first):
        expect(mark).to_be_in_viewport()
    expect(page.locator(".xd-col:nth-child(2) mark").last).not_to_be_in_viewport()
    for row in page.locator(".xd-row").all():
        expect(row).to_be_in_viewport(ratio=0.99)
