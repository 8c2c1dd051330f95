"""Real servers, one of each for the whole test session."""

from __future__ import annotations

from pathlib import Path

import pytest

from labelstudio_config.client import Client, connect
from tests.helpers.label_studio_server import LabelStudioServer, label_studio
from tests.helpers.stack import stack

__all__ = ["label_studio", "stack"]

LIMIT = 2400
"""Seconds for one test: its own waits for a condition end long before."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give tests with servers the time that they take beside other work."""
    for item in items:
        if Path(__file__).parent in item.path.parents and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(LIMIT))


@pytest.fixture
def client(label_studio: LabelStudioServer) -> Client:
    """The coordinator's connection."""
    return connect(label_studio.url, label_studio.token)
