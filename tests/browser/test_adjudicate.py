"""An adjudicator decides by keyboard where annotators disagree, in light and dark mode."""

from __future__ import annotations

from urllib.parse import urljoin

import pytest
from playwright.sync_api import Page, expect

from abcdlink.adjudicate import pools_to_decide
from abcdlink.feedback import SecondAnswer
from abcdlink.judgments import Judgment, Label, Pool
from labelstudio_config.client import HOME, Client
from labelstudio_config.pages.adjudicate import adjudication_project, adjudication_tasks
from labelstudio_config.projects import push_tasks
from tests.browser.window import close_guidelines, picture
from tests.helpers.annotation import Run, make_run
from tests.helpers.builders import judgment
from tests.helpers.pulls import pull_adjudications

ATTACK = "<img src=x onerror=alert(1)> {{idx}} $source_text &amp; <b>bold</b>"
COMMENTS = (f"The bridge is named in both, but B is about the river only. {ATTACK}", "Same event, told a day later.")
SIZE = 60
AGAIN = [
    SecondAnswer(
        batch=1,
        pair="pair-wombat-0",
        source="sid-dugong-1",
        target="sid-dugong-7",
        annotator=f"annotator-{who}",
        label=label,
        comment=comment,
    )
    for who, label, comment in ((1, Label.LINK, "Now I see it."), (2, Label.NO_LINK, ""))
]
"""In the feedback round both changed their minds, in opposite directions."""


@pytest.fixture
def run() -> Run:
    long = "Sentence number {} of a long document tells what was decided, by whom, and what it will cost the town."
    return make_run(tasks=2, texts=[*(long.format(n) for n in range(SIZE - 1)), ATTACK])


def judgments_of(run: Run) -> list[Judgment]:
    """Two annotators disagree on three candidates of the first source and on one of the second."""
    labels = {(0, 20): "LN", (0, 21): "LL", (0, 40): "NL", (0, SIZE - 1): "LN", (1, 7): "NL", (1, 8): "NN"}
    return [
        judgment(
            ("pair-wombat-0", f"sid-dugong-{source}", f"sid-dugong-{target}"),
            number + 1,
            said == "L",
            method="method-quokka",
            comment=COMMENTS[number] if source == 0 else "",
            flags=("Unsure",) if number else (),
        )
        for (source, target), both in labels.items()
        for number, said in enumerate(both)
    ]


def begin(page: Page, client: Client, run: Run) -> list[Pool]:
    """Push the disputed candidates, open the project, and close the guidelines."""
    judgments = judgments_of(run)
    pools = pools_to_decide(judgments, run.corpus, run.key, 2)
    tasks = adjudication_tasks(pools, judgments, run.corpus, run.domain, AGAIN)
    url = push_tasks(client, adjudication_project(run.key, run.domain, run.domain.guidelines), tasks).url
    page.goto(urljoin(url, HOME))
    own = page.locator(f"h2:text('Only if the coordinator asked you') ~ a:has-text('{run.key} · adjudication')")
    expect(own).to_have_count(1)
    page.goto(url)
    close_guidelines(page, "You decide where annotators disagree")
    expect(page.locator(".xd-row")).to_have_count(3)
    return pools


def test_disputes_are_decided_by_keyboard(page: Page, client: Client, run: Run) -> None:
    pools = begin(page, client, run)
    expect(page.locator(".xd-progress")).to_contain_text("Sentence 1 of 2")
    # Only disputed candidates: both called sentence 21 a link.
    expect(page.locator(".xd-b mark")).to_have_count(3)
    expect(page.locator(".xd-b mark").first).to_be_in_viewport()
    for row in page.locator(".xd-row").all():
        expect(row.locator(".xd-said")).to_contain_text("One annotator: ")
        expect(row.locator(".xd-said")).to_contain_text("Another: ")
        for said in ("Link", "No Link"):
            expect(row.locator(".xd-said b").get_by_text(said, exact=True)).to_have_count(1)
    said = page.locator(".xd-row .xd-said").first
    for comment in COMMENTS:
        expect(said).to_contain_text(comment)
    assert page.locator(".xd-wrap img").count() == 0
    shown = page.locator("body").inner_text()
    assert not [word for word in ("annotator-1", "annotator-2", "quokka", "wombat", "dugong") if word in shown]
    page.keyboard.press("0")
    page.keyboard.press("Shift+Digit1")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#xd-say")).to_have_text("1 candidate still needs a decision: Link or No Link.")
    picture(page, "adjudication-undecided")
    page.keyboard.press("2")
    picture(page, "adjudication")
    page.keyboard.press("Control+Enter")

    # The second source: one candidate, without comments.
    expect(page.locator(".xd-row")).to_have_count(1)
    expect(page.locator(".xd-row .xd-said")).to_contain_text("Unsure")
    # Answers after feedback are shown next to the earlier ones.
    again = page.locator(".xd-row .xd-said p")
    expect(again.filter(has_text="No Link, after feedback Link, “Now I see it.”")).to_have_count(1)
    expect(again.filter(has_text="Link, Unsure, after feedback No Link")).to_have_count(1)
    picture(page, "adjudication-after-feedback")
    page.fill(".xd-foot textarea, .xd-foot input[name=comment]", "Both name the day.")
    page.keyboard.press("Enter")
    page.locator(".xd-src").click()
    page.keyboard.press("Shift+Digit0")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("No More Tasks", exact=False).first).to_be_visible()

    pulled = pull_adjudications(client, run.key, pools, judgments_of(run))
    link, no = Label.LINK, Label.NO_LINK
    first, second = "sid-dugong-0", "sid-dugong-1"
    assert [(a.source, a.target, a.label, a.comment) for a in pulled.adjudications] == [
        (first, "sid-dugong-20", link, ""),
        (first, "sid-dugong-40", no, ""),
        (first, f"sid-dugong-{SIZE - 1}", link, ""),
        (second, "sid-dugong-7", no, "Both name the day."),
    ]
    assert {(a.adjudicator, a.consensus) for a in pulled.adjudications} == {("adjudicator-1", False)}
    assert pulled.anomalies == []


def test_the_page_in_dark_mode(page: Page, client: Client, run: Run) -> None:
    begin(page, client, run)
    page.get_by_role("button", name="Light").click()
    expect(page.locator("html")).to_have_attribute("data-color-scheme", "dark")
    page.keyboard.press("0")
    page.keyboard.press("Shift+Digit1")
    for part in (".xd-src", ".xd-foot"):
        expect(page.locator(part)).to_be_in_viewport(ratio=1)
    picture(page, "adjudication-dark")
