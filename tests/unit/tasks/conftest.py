"""A run whose first batch is in a Label Studio in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from abcdlink.store import Store
from labelstudio_config.run import read_pushed
from tests.helpers.batch_steps import RUN, SLUG
from tests.helpers.fake_label_studio import FakeLabelStudio, pushed_run, serve


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> FakeLabelStudio:
    return serve(monkeypatch)


@pytest.fixture
def store(isolated_home: Path, server: FakeLabelStudio) -> Store:
    """The run: a batch of four tasks that nobody has answered."""
    return pushed_run(RUN, 4)


@pytest.fixture
def keys(store: Store) -> tuple[str, ...]:
    return read_pushed(store, SLUG).task_keys
