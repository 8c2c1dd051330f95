"""Real servers, one of each for the whole test session."""

from __future__ import annotations

import sys

import pytest

from labelstudio_config.client import Client, connect
from tests.integration.label_studio_server import ROOT, LabelStudioServer, label_studio
from tests.integration.stack import stack

# The fake LLM of the unit tests finds its own parts there.
sys.path.append(str(ROOT / "tests" / "unit"))

__all__ = ["label_studio", "stack"]


@pytest.fixture
def client(label_studio: LabelStudioServer) -> Client:
    """The coordinator's connection."""
    return connect(label_studio.url, label_studio.token)
