"""A real Label Studio server and a real browser, one of each for the whole test session."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.integration.label_studio_server import label_studio

__all__ = ["label_studio"]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium, else the one that Playwright downloads."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield started
        started.close()
