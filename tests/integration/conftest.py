"""Real servers, one of each for the whole test session."""

from __future__ import annotations

import pytest

from labelstudio_config.client import Client, connect
from tests.helpers.label_studio_server import LabelStudioServer, label_studio
from tests.helpers.stack import stack

__all__ = ["label_studio", "stack"]


@pytest.fixture
def client(label_studio: LabelStudioServer) -> Client:
    """The coordinator's connection."""
    return connect(label_studio.url, label_studio.token)
