"""What all tiers share: an isolated home, no real endpoint by accident, and the optional real data."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from abcdlink.settings import get_settings
from tests import ROOT

SHARED_DATA = Path(os.environ.get("ABCDLINK_SHARED_DATA", ROOT.parent / "shared" / "data"))

# How fast the machine is decides no test. Property tests find what they find in 50 examples; `--hypothesis-profile
# thorough` takes a thousand where a test does not say how many.
hypothesis.settings.register_profile("usual", deadline=None, max_examples=50)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=1000)
hypothesis.settings.load_profile("usual")


@pytest.fixture(autouse=True)
def isolated_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Every test has its own home folder and none of the caller's settings."""
    for name in [name for name in os.environ if name.startswith("ABCDLINK_")]:
        if name != "ABCDLINK_SHARED_DATA":
            monkeypatch.delenv(name)
    monkeypatch.setenv("ABCDLINK_HOME", str(tmp_path / "home"))
    get_settings.cache_clear()
    yield tmp_path / "home"
    get_settings.cache_clear()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data; tests that need it are skipped where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"the real data folder is not here ({SHARED_DATA}); set ABCDLINK_SHARED_DATA to run this test")
    return SHARED_DATA
