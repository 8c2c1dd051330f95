"""Shared by all tiers: an isolated home, no accidental use of a real endpoint, and the optional real data."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from abcdlink.settings import get_settings
from tests import ROOT
from tests.helpers.homes import configure
from tests.paper.fetch import HASHES, REPOSITORY

# Matrices here are small: threads of numpy, torch and Arrow would spend more time waiting for each other than
# computing. Set before a test imports any of them; servers and commands that tests start inherit it.
os.environ["OMP_NUM_THREADS"] = "1"

# Tests write thousands of small files, and their servers wait for the disk after each change; in memory, neither takes
# long. All tiers together need less than a gigabyte at any time.
MEMORY, ROOM = Path("/dev/shm"), 4 << 30  # noqa: S108 - pytest creates its own folders there
if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

SHARED_DATA = Path(os.environ.get("ABCDLINK_SHARED_DATA", ROOT.parent / "shared" / "data"))

# No test depends on the speed of the machine. Property tests try 10 examples; `make unit PROPERTIES=thorough` tries a
# thousand, except where a test sets its own number.
hypothesis.settings.register_profile("usual", deadline=None, max_examples=10)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=1000)
hypothesis.settings.load_profile("usual")

LIMIT = 2400
"""Seconds for one test outside the unit tier; its own waits for a condition end long before."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give tests with servers or real models time enough on a busy machine."""
    for item in items:
        if ROOT / "tests" / "unit" not in item.path.parents and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(LIMIT))


@pytest.fixture(autouse=True)
def isolated_home(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """Give every test its own home folder, which it makes if it needs one, and none of the caller's settings."""
    for name in [name for name in os.environ if name.startswith("ABCDLINK_")]:
        if name != "ABCDLINK_SHARED_DATA":
            monkeypatch.delenv(name)
    if "tmp_path" in request.fixturenames:
        home = request.getfixturevalue("tmp_path") / "home"
    else:  # most tests write nothing
        home = tmp_path_factory.getbasetemp() / f"home-{uuid.uuid4().hex}"
    configure(monkeypatch, home=home)
    yield home
    get_settings.cache_clear()
    shutil.rmtree(home, ignore_errors=True)


class SharedData:
    """The folder of real data; a test that asks for a missing part is skipped."""

    PARTS = ("news_ecb", "reviews_he", "f1000rd_sample", "news_synth_rest", "paper_tables.json")

    def __truediv__(self, part: str) -> Path:
        path = SHARED_DATA / part
        if not path.exists():
            fetched = any(name.startswith(f"{part}/") for name in HASHES)
            how = "`make data` fetches it" if fetched else f"it is not among the files of {REPOSITORY}"
            pytest.skip(f"{path} does not exist: {how} (ABCDLINK_SHARED_DATA names another folder)")
        return path

    def whole(self) -> Path:
        for part in self.PARTS:
            self / part
        return SHARED_DATA


@pytest.fixture(scope="session")
def shared_data() -> SharedData:
    return SharedData()
