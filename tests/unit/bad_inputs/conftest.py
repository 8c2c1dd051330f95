"""A separate folder, commands called in it, and the check of how they respond to bad input.

The command then exits with its own status, says in our own words what is wrong and what to do, prints nothing
to standard output, and leaves the folder as it was. Replies of LLMs are in ``llm/test_replies.py``, Label Studio's data
in ``tasks/test_batches_forgeries.py``, forms of the Prefect UI in ``flows/test_forms.py``, and damaged files of
a run in ``cli/test_damaged_runs.py``.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

import pytest

from abcdlink.cli import app
from abcdlink.settings import get_settings
from tests.helpers.bad_input import LIBRARY_WORDS, THERE

Files = Mapping[str, str | bytes]
commands = lru_cache(app.make_app)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a separate folder; the commands are built once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(app, "make_app", commands)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Files], int]:
    """Call a command in a folder with ``THERE`` and further files; returns its exit status."""

    def called(command: str, files: Files) -> int:
        for name, content in {**THERE, **files}.items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
        monkeypatch.setattr(sys, "argv", ["abcdlink", *shlex.split(command)])
        get_settings.cache_clear()
        with pytest.raises(SystemExit) as stop:
            app.main()
        return int(stop.value.code or 0)

    return called


@pytest.fixture
def refuses(call: Callable[[str, Files], int], capfd: pytest.CaptureFixture[str]) -> Callable[..., None]:
    """Check that a command is refused with one message stating the problem and the hint, and writes nothing."""

    def check(command: str, files: Files, problem: str, hint: str) -> None:
        code = call(command, files)
        out, err = capfd.readouterr()
        assert (code, out) == (2, ""), err
        said, advice = err.partition("Hint:")[::2]
        assert said.strip().startswith("Error:")
        assert problem in said
        assert advice.strip()
        assert hint in err
        assert not [word for word in LIBRARY_WORDS if word in err]
        here = {str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file()}
        written = {name: content for name, content in here.items() if not name.endswith((".lock", ".holder"))}
        assert written == {
            name: value if isinstance(value, bytes) else value.encode() for name, value in {**THERE, **files}.items()
        }

    return check
