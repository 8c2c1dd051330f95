"""A new annotator's browser window and screenshots of it, for the tests of pages."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, expect
from playwright.sync_api import TimeoutError as NotInTime

from labelstudio_config.accounts import sign_up
from labelstudio_config.client import Client

PASSWORD = "a-password-of-an-annotator"
PICTURES = Path(__file__).resolve().parents[2] / "test-results"
IDLE: list[BrowserContext] = []
"""Of earlier tests, with no cookies and nothing stored: their cache has the scripts of Label Studio's pages."""


@contextmanager
def annotator_window(browser: Browser, client: Client) -> Iterator[Page]:
    """A new annotator's browser window, logged in; fails the test when a page runs code from a document."""
    context = IDLE.pop() if IDLE else browser.new_context(viewport={"width": 1366, "height": 768})
    context.set_default_timeout(120_000)
    # Skipping the login page saves a quarter of the time of most tests.
    with closing(sign_up(client.invitation(), f"ada-{secrets.token_hex(4)}@example.org", PASSWORD)) as session:
        context.add_cookies([{"name": n, "value": v, "url": client.url} for n, v in session.cookies.items()])
    window = context.new_page()
    alerts: list[str] = []
    window.on("dialog", lambda dialog: (alerts.append(dialog.message), dialog.dismiss()))
    yield window
    window.goto(f"{client.url}/health")
    window.evaluate("localStorage.clear()")
    for page in context.pages:
        page.close()
    context.clear_cookies()
    IDLE.append(context)
    assert not alerts


def picture(page: Page, name: str) -> None:
    """Save a screenshot of the page for people to look at."""
    PICTURES.mkdir(exist_ok=True)
    page.screenshot(path=PICTURES / f"{name}.png", animations="disabled")


def close_window(page: Page) -> None:
    """Close the dialog in front of the page; one that is still opening misses the first Escape."""
    window = page.locator(".ant-modal-wrap:visible, .lsf-modal-ls:visible")
    expect(window).to_have_count(1)
    while window.count():
        page.keyboard.press("Escape")
        with suppress(NotInTime):
            window.first.wait_for(state="hidden", timeout=2_000)


def close_guidelines(page: Page, *says: str) -> None:
    """Close the guidelines, which are shown first and say this."""
    for text in says:
        # The task behind them may have clarifications of the same class.
        expect(page.locator(".lsf-modal-ls .xd-guide")).to_contain_text(text)
    close_window(page)


def open_guidelines(page: Page) -> None:
    """Open the guidelines again, and wait until they are opaque."""
    page.get_by_role("button", name="Instructions").click()
    page.locator(".lsf-modal-ls.lsf-visible .xd-guide").wait_for()
