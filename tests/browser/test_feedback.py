"""An annotator in a feedback round reads the answers, judges again by keyboard, and acknowledges the guidelines."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from abcdlink.feedback import Case, choose_cases
from abcdlink.judgments import Label
from labelstudio_config.client import Client
from labelstudio_config.pages.feedback import feedback_project, feedback_tasks
from labelstudio_config.projects import push_tasks
from tests.browser.window import close_guidelines, picture
from tests.helpers.annotation import SECRETS, Run, make_run
from tests.helpers.builders import judgment
from tests.helpers.pulls import pull_feedback

ATTACK = "<img src=x onerror=alert(1)> {{idx}} &amp; <b>bold</b>"
CLARIFICATION = "**Short candidates.** Look at the sentence before. <img src=x onerror=alert(1)>"
GUIDELINES = f"# Guidelines\n\nJudge well.\n\n## Clarifications after batch 1\n\n{CLARIFICATION}"


@pytest.fixture
def run() -> Run:
    filler = [f"Filler sentence number {number} of a long document, which says nothing." for number in range(60)]
    return make_run(tasks=2, texts=["The old bridge fell at noon.", ATTACK, *filler, "The mayor spoke of luck."])


def begin(page: Page, client: Client, run: Run) -> list[Case]:
    """Push two cases and the guidelines, open the project, and close the guidelines that are shown first."""
    judgments = [
        judgment(
            (pool.pair, pool.source, pool.candidates[1].target),
            who,
            label,
            method=pool.candidates[1].method,
            flags=("Unsure",) if who == 2 else (),
            comment=ATTACK if who == 2 else "",
        )
        for pool in run.pools
        for who, label in ((1, Label.LINK), (2, Label.NO_LINK))
    ]
    cases = choose_cases(run.key, judgments, run.corpus)
    tasks = feedback_tasks(run.key, 1, cases, run.corpus, run.domain, CLARIFICATION, GUIDELINES)
    page.goto(push_tasks(client, feedback_project(run.key, 1, run.domain, GUIDELINES, 2), tasks).url)
    close_guidelines(page, "Nobody is right by default")
    expect(page.locator(".xd-progress")).to_contain_text("Case 1 of 2")
    return cases


def test_cases_and_guidelines_by_keyboard(page: Page, client: Client, run: Run) -> None:
    cases = begin(page, client, run)
    expect(page.locator(".xd-said")).to_contain_text("One annotator: Link")
    expect(page.locator(".xd-said")).to_contain_text("One annotator: No Link")
    expect(page.locator(".xd-said")).to_contain_text(ATTACK)
    expect(page.locator(".xd-why")).to_contain_text("Look at the sentence before")
    for seen in (".xd-foot", ".xd-cand", ".xd-a mark"):
        expect(page.locator(seen)).to_be_in_viewport(ratio=0.99)
    picture(page, "feedback-case")
    page.get_by_role("button", name="Light").click()
    expect(page.locator("html")).to_have_attribute("data-color-scheme", "dark")
    picture(page, "feedback-case-dark")
    expect(page.get_by_role("button", name="Submit current annotation")).to_be_disabled()
    page.keyboard.press("0")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".xd-progress")).to_contain_text("Case 2 of 2")
    page.keyboard.press("Shift+Digit0")
    page.locator(".xd-foot textarea, .xd-foot input[name=comment_0]").fill("It is another bridge.")
    page.keyboard.press("Enter")
    expect(page.locator(".xd-foot")).to_contain_text("It is another bridge.")
    picture(page, "feedback-comment")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".xd-notice")).to_contain_text("Clarifications after batch 1")
    # News comes first: before the full guidelines, and visible without scrolling.
    new, *_ = page.locator(".xd-notice h1").all()
    expect(new).to_have_text("New in the guidelines")
    expect(new).to_be_in_viewport(ratio=0.99)
    told = page.locator(".xd-notice").inner_text()
    assert told.index("Look at the sentence before") < told.index("Judge well.")
    picture(page, "feedback-guidelines")
    expect(page.get_by_role("button", name="Submit current annotation")).to_be_disabled()
    expect(page.locator(".xd-foot")).to_be_in_viewport(ratio=0.99)
    page.keyboard.press("q")
    picture(page, "feedback-read")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("No More Tasks", exact=False).first).to_be_visible()
    assert page.locator(".xd-wrap img").count() == 0
    pulled = pull_feedback(client, run.key, 1, cases)
    assert [(one.source, one.label, one.comment) for one in pulled.answers] == [
        (cases[0].source, Label.LINK, ""),
        (cases[1].source, Label.NO_LINK, "It is another bridge."),
    ]
    assert [one.question for one in pulled.acknowledgements] == [True]
    assert pulled.anomalies == []


def test_no_method_or_name_is_revealed(page: Page, client: Client, run: Run) -> None:
    begin(page, client, run)
    content = page.content()
    for word in (*SECRETS, "annotator-1", "annotator-2"):
        assert word not in content
