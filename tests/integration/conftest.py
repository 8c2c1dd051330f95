"""Real servers, one of each for the whole test session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.label_studio_server import LabelStudioServer, label_studio_server


@pytest.fixture(scope="session")
def label_studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabelStudioServer]:
    """A real Label Studio server."""
    with label_studio_server(tmp_path_factory.mktemp("label-studio")) as server:
        yield server
