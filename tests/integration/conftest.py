"""Real servers, one of each for the whole test session."""

from __future__ import annotations

import pytest

from tests.helpers.label_studio_server import client, label_studio
from tests.helpers.stack import stack

__all__ = ["client", "label_studio", "stack"]

LONGEST = (
    *("test_guide", "test_kills", "test_long_waits", "test_services", "test_runners", "test_qualify"),
    *("test_budget", "test_replay", "test_flows", "test_chaos", "test_embedded_llm", "test_feedback"),
)
"""Files that start first, so that no process is left working on one of them alone at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the slowest files first and leave the others in order."""
    place = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(LONGEST)))
