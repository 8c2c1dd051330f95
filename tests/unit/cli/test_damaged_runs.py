"""A file of a run that was cut or replaced is one clear message that names it, and nothing is changed."""

from __future__ import annotations

import shlex
import sys
from functools import lru_cache
from pathlib import Path

import pytest

from abcdlink.cli import app
from abcdlink.settings import get_settings
from tests.helpers.example_run import example_run

READ_BY = {
    "annotators.jsonl": "annotators show harbour",
    "benchmark.json": "report harbour",
    "candidates.jsonl": "links harbour",
    "judgments.jsonl": "report harbour",
    "decisions/natural/hybrid@7+llm-listwise-4/part-00000.json": "report harbour",
    "generation.json": "report harbour",
    "natural/documents.jsonl": "links harbour",
    "natural/pairs.jsonl": "links harbour",
    "natural/refused.jsonl": "report harbour",
    "shortlist.json": "report harbour",
    "synthetic/documents.jsonl": "report harbour",
    "validation.json": "report harbour",
}
"""File of a run -> a command that reads it."""
DAMAGE = {
    "cut": lambda content: content[:-5],
    "other": lambda _: b'{"x": 1}\n',
    "binary": lambda _: b"\xff\xfe\x00",
}
LIBRARY_WORDS = ("Traceback", "validation error", "Value error", "Errno", "pydantic", "pyarrow")
commands = lru_cache(app.make_app)


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", READ_BY)
def test_a_damaged_file_is_named(
    name: str, damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    example_run(runs)
    monkeypatch.setenv("ABCDLINK_RUNS", str(runs))
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setattr(app, "make_app", commands)
    monkeypatch.setattr(sys, "argv", ["abcdlink", *shlex.split(READ_BY[name])])
    get_settings.cache_clear()
    file = runs / "harbour" / name
    content = DAMAGE[damage](file.read_bytes())
    file.write_bytes(content)
    before = {path: path.read_bytes() for path in runs.rglob("*") if path.is_file()}
    with pytest.raises(SystemExit) as stop:
        app.main()
    err = capfd.readouterr().err
    assert stop.value.code == 2, err
    assert file.name in err
    assert "Hint:" in err
    assert not [word for word in LIBRARY_WORDS if word in err]
    assert {path: path.read_bytes() for path in runs.rglob("*") if path.is_file()} == before
