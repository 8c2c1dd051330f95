"""Two annotators share one link: each is taken to their own project, and then to what comes next."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from labelstudio_config.client import Client
from tests.browser.window import annotator_window, picture
from tests.helpers.label_studio_server import LabelStudioServer
from tests.helpers.own_batch import own_batch


def home(page: Page, client: Client) -> Page:
    page.goto(client.home())
    return page


def begin(page: Page, batch_title: str) -> None:
    """Begin from the annotator's own page."""
    page.locator("a.go", has_text=batch_title).click()
    expect(page.locator(".lsf-modal-ls .xd-guide")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator(".lsf-modal-ls .xd-guide")).to_be_hidden()
    expect(page.locator(".xd-row").first).to_be_visible()


@pytest.mark.usefixtures("isolated_home")
def test_one_link_takes_each_annotator_to_their_own_work(
    page: Page, browser: Browser, client: Client, label_studio: LabelStudioServer
) -> None:
    with own_batch(label_studio, 2) as batch, annotator_window(browser, client) as second:
        assert batch.pushed.url == client.home()
        first, other = (one.title for one in batch.pushed.projects)
        for window, title, key in ((page, first, "1"), (second, other, "2")):
            begin(home(window, client), title)
            for number in (1, 2):
                expect(window.locator(".xd-progress")).to_contain_text(f"{number} of 2")
                for pressed in (key, "r", "Enter"):
                    window.keyboard.press(pressed)
            expect(window.locator("#xd-next")).to_be_visible()
            picture(window, "own-end")
            window.locator("#xd-next a").click()
            expect(window.get_by_role("heading", name="Your tasks")).to_be_visible()
            expect(window.locator("a.go", has_text=batch.store.key)).to_have_count(0)
            picture(window, "own-home")
        now, said = batch.look()
        assert (now.complete, said) == (True, [])


@pytest.mark.usefixtures("isolated_home")
def test_going_back_shows_no_one_elses_answer(
    page: Page, browser: Browser, client: Client, label_studio: LabelStudioServer
) -> None:
    with own_batch(label_studio, 2) as batch, annotator_window(browser, client) as second:
        begin(home(page, client), batch.pushed.projects[0].title)
        for pressed in ("1", "r", "Enter"):
            page.keyboard.press(pressed)
        expect(page.locator(".xd-progress")).to_contain_text("2 of 2")
        begin(home(second, client), batch.pushed.projects[1].title)
        second.goto(f"{client.url}/projects/")
        expect(second.get_by_text(f"To do · {batch.pushed.projects[1].title}")).to_be_visible()
        expect(second.get_by_text(f"To do · {batch.pushed.projects[0].title}")).to_have_count(0)
        picture(second, "own-projects")
        second.get_by_text(f"To do · {batch.pushed.projects[1].title}").click()
        second.locator(".dm-table-body .dm-table-row, [class*='table-row']").first.click()
        expect(second.locator(".xd-row").first).to_be_visible()
        picture(second, "own-first-row")
        expect(second.locator(".ant-radio-checked")).to_have_count(0)
        # The link of the other's project leads nowhere.
        second.goto(batch.pushed.projects[0].url)
        second.wait_for_load_state("networkidle")
        expect(second.locator(".ant-radio-checked")).to_have_count(0)
        picture(second, "own-refused")
        assert batch.look()[1] == []
