"""What tests of pages share: a new annotator's browser window, and pictures of it."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page

from labelstudio_config.accounts import sign_up
from labelstudio_config.client import Client

PASSWORD = "a-password-of-an-annotator"
PICTURES = Path(__file__).resolve().parents[2] / "test-results"


@contextmanager
def annotator_window(browser: Browser, client: Client) -> Iterator[Page]:
    """A new annotator's browser window, logged in; fails the test when a page runs what a document says."""
    email = f"ada-{secrets.token_hex(4)}@example.org"
    sign_up(client.invitation(), email, PASSWORD).close()
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    context.set_default_timeout(120_000)
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


def picture(page: Page, name: str) -> None:
    """Keep a picture of the page, for people to look at."""
    PICTURES.mkdir(exist_ok=True)
    page.screenshot(path=PICTURES / f"{name}.png", animations="disabled")
