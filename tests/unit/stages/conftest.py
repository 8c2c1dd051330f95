"""Fixtures for tests of several stages."""

from __future__ import annotations

import pytest

from tests.helpers.fake_llm import MODEL


@pytest.fixture
def serve(monkeypatch):
    """Point the settings of this process to a server."""
    return lambda server, model=MODEL: server.use(monkeypatch, model)
