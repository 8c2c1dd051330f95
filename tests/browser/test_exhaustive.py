"""An annotator judges every sentence of a long document by keyboard, in light and dark mode."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from abcdlink.domain import SourceFilter
from abcdlink.judgments import Label
from abcdlink.source_sample import Sample, sample_sources
from labelstudio_config.client import Client
from labelstudio_config.pages.exhaustive import exhaustive_project, exhaustive_tasks
from labelstudio_config.projects import push_tasks
from tests.browser.window import close_guidelines, close_window, picture
from tests.helpers.annotation import Run, make_run
from tests.helpers.pulls import pull_exhaustive

ATTACK = "<img src=x onerror=alert(1)> {{idx}} $source_text &amp; <b>bold</b>"
SIZE = 150
TABS_TO_THE_FIRST = 8
"""Label Studio's own links and buttons come first."""


@pytest.fixture
def run() -> Run:
    long = "Sentence number {} of a long document tells what was decided, by whom, and what it will cost the town."
    texts = [long.format(n) if n % 3 else f"Short sentence number {n}." for n in range(SIZE - 3)]
    return make_run(tasks=1, texts=[*texts, ATTACK, "The same sentence.", "The same sentence."])


def begin(page: Page, client: Client, run: Run) -> Sample:
    """Push two sampled sources, open the project, and close the guidelines."""
    sample = sample_sources(run.corpus, SourceFilter(), run.key, 7, number=2)
    tasks = exhaustive_tasks(sample.sources, run.corpus, run.domain)
    page.goto(push_tasks(client, exhaustive_project(run.key, run.domain, run.domain.guidelines, 1), tasks).url)
    close_guidelines(page, "Judge every sentence")
    expect(page.locator(".xd-list input")).to_have_count(SIZE)
    return sample


def text_of(run: Run, source: str) -> str:
    return run.corpus.documents["source-bilby-0"].text_of(source)


def focused(page: Page) -> int:
    """Return the index of the focused sentence, from 0; -1 for none."""
    found = "[...document.querySelectorAll('.xd-list input')].indexOf(document.activeElement)"
    return int(page.evaluate(found))


def tab_to(page: Page, number: int, at_most: int) -> None:
    for _ in range(at_most):
        page.keyboard.press("Tab")
        if focused(page) == number:
            return
    pytest.fail(f"{at_most} Tabs do not lead to sentence {number} but to {focused(page)}")


def test_every_sentence_is_judged_by_keyboard(page: Page, client: Client, run: Run) -> None:
    sample = begin(page, client, run)
    expect(page.locator(".xd-a mark")).to_be_in_viewport()
    page.keyboard.press("Control+Enter")
    expect(page.locator(".xd-list input:checked")).to_have_count(0)

    # Letters and digits tick nothing, though Label Studio assigns keys to choices without any.
    for key in ("1", "q", "w", "s"):
        page.keyboard.press(key)
    expect(page.locator(".xd-list input:checked")).to_have_count(0)
    tab_to(page, 0, TABS_TO_THE_FIRST)
    for number in (3, 4, SIZE - 2):
        tab_to(page, number, number + 1)
        expect(page.locator(".xd-list .lsf-choice").nth(number)).to_be_in_viewport(ratio=1)
        page.keyboard.press("Space")
    picture(page, "exhaustive")

    # Cannot be submitted before the annotator confirms having read everything.
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Confirm below that you read everything", exact=False)).to_be_visible()
    picture(page, "exhaustive-not-read")
    assert pull_exhaustive(client, run.key, sample.sources, run.corpus).judgments == []
    close_window(page)
    page.keyboard.press("a")
    page.keyboard.press("u")
    page.keyboard.press("Control+Enter")

    # No links at all: one key, then Submit.
    first, second = sample.sources
    expect(page.locator(".xd-src")).to_contain_text(text_of(run, second.source))
    expect(page.locator(".xd-list input:checked")).to_have_count(0)
    page.keyboard.press("n")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("No More Tasks", exact=False).first).to_be_visible()

    pulled = pull_exhaustive(client, run.key, sample.sources, run.corpus)
    assert len(pulled.judgments) == 2 * SIZE
    links = [(j.source, j.target) for j in pulled.judgments if j.label is Label.LINK]
    assert links == [(first.source, f"sid-dugong-{n}") for n in (3, 4, SIZE - 2)]
    assert {(j.source, j.flags) for j in pulled.judgments} == {(first.source, ("Unsure",)), (second.source, ())}
    assert all(j.seconds for j in pulled.judgments)
    assert pulled.anomalies == []


def test_any_text_is_shown_in_light_and_dark_mode(page: Page, client: Client, run: Run) -> None:
    sample = begin(page, client, run)
    rows = page.locator(".xd-list .lsf-choice")
    expect(rows.nth(SIZE - 3)).to_contain_text(ATTACK)
    assert page.locator(".xd-wrap img").count() == 0
    expect(page.locator(".xd-src")).to_contain_text(text_of(run, sample.sources[0].source))
    expect(page.locator(".xd-foot")).to_be_in_viewport(ratio=1)
    # Enough of the 150 sentences are visible at once to read without hunting.
    seen = page.evaluate(
        """() => { const list = document.querySelector('.xd-list').getBoundingClientRect();
        return [...document.querySelectorAll('.xd-list .lsf-choice')].filter(row => {
            const at = row.getBoundingClientRect(); return at.top >= list.top && at.bottom <= list.bottom }).length }"""
    )
    assert seen >= 10
    page.get_by_role("button", name="Light").click()
    expect(page.locator("html")).to_have_attribute("data-color-scheme", "dark")
    rows.nth(1).locator("input").check()
    rows.nth(2).locator("input").focus()
    page.fill(".xd-foot textarea, .xd-foot input[name=comment]", "Two sentences are the same.")
    picture(page, "exhaustive-dark")
    page.keyboard.press("Enter")
    page.locator(".xd-foot label", has_text="ticked every link").click()
    page.keyboard.press("Control+Enter")
    expect(page.locator(".xd-list input:checked")).to_have_count(0)
    pulled = pull_exhaustive(client, run.key, sample.sources, run.corpus)
    assert {j.comment for j in pulled.judgments} == {"Two sentences are the same."}
    assert [j.target for j in pulled.judgments if j.label is Label.LINK] == ["sid-dugong-1"]
