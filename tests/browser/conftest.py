"""A real Label Studio server and a real browser, one of each for the whole test session."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from labelstudio_config.client import Client
from tests.browser.window import annotator_window
from tests.helpers.label_studio_server import client, label_studio

__all__ = ["client", "label_studio"]

ARGUMENTS = ["--no-sandbox", "--host-resolver-rules=MAP bridges.example 127.0.0.1"]
"""The host name of another site that resolves to this machine, as an attacker's can."""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium, or else the one that Playwright downloads."""
    with sync_playwright() as playwright:
        # A busy machine must not decide a test.
        expect.set_options(timeout=120_000)
        started = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture
def page(browser: Browser, client: Client) -> Iterator[Page]:
    """The browser window of a new annotator."""
    with annotator_window(browser, client) as window:
        yield window
