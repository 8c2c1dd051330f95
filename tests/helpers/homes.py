"""Settings, and home folders that the tests of a module share: made once, read in place or copied."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from abcdlink.settings import get_settings


def configure(patch: pytest.MonkeyPatch, **settings: object) -> None:
    """Change settings of this process, named without their prefix."""
    for name, value in settings.items():
        patch.setenv(f"ABCDLINK_{name.upper()}", str(value))
    get_settings.cache_clear()


@contextmanager
def other_home(folder: Path, like: Path | None = None) -> Iterator[Path]:
    """Use another home folder for a while, starting as a copy of ``like``."""
    if like:
        shutil.copytree(like, folder, dirs_exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        configure(patch, home=folder)
        yield folder
    get_settings.cache_clear()
