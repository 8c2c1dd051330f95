"""A truncated or replaced file of a run is one clear message that names it, and nothing is changed."""

from __future__ import annotations

import io
import json
import shlex
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pandas as pd
import pytest

from abcdlink.cli import app
from abcdlink.errors import InputError
from abcdlink.evaluation.shortlist import ShortlistRule
from abcdlink.layout import SHORTLIST, SYNTHETIC
from abcdlink.report.content import gather
from abcdlink.settings import get_settings
from abcdlink.stages.annotate import join_batches
from abcdlink.stages.benchmark import read_benchmark, read_scores
from abcdlink.stages.rank import read_rankings
from abcdlink.stages.shortlist import run_shortlist
from abcdlink.store import MANIFEST, Store, open_run
from labelstudio_config.run import known_so_far, not_said_yet, pushed_copy, read_pushed, tasks_kept
from tests.helpers.batch_steps import look
from tests.helpers.example_run import example_run
from tests.helpers.fake_label_studio import ADA, pushed_run, serve

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


def _shortlisted(store: Store) -> object:
    store.folder.remove(SHORTLIST)
    return run_shortlist(store, ShortlistRule())


RESULTS: dict[str, Callable[[Store], object]] = {
    "rankings/synthetic/hybrid/part-00000.parquet": lambda store: read_rankings(store, SYNTHETIC, "hybrid"),
    "rankings/synthetic/hybrid/plan.json": lambda store: read_rankings(store, SYNTHETIC, "hybrid"),
    "scores.parquet": read_scores,
    "benchmark.json": read_benchmark,
    "cutoffs.json": _shortlisted,
    "candidates.json": gather,
    "generation.json": gather,
    "batches/1/judgments.jsonl": lambda store: join_batches(store, 2, 2),
    "decisions/natural/hybrid@7+llm-listwise-4/part-00001.json": gather,
}
OF_PROJECTS: dict[str, Callable[[Store], object]] = {
    "pushed.json": lambda store: read_pushed(store, "batch-1"),
    "snapshot.json": lambda store: known_so_far(store, read_pushed(store, "batch-1")),
    "tasks.json.xz": lambda store: tasks_kept(store, "batch-1"),
    "digests.json": lambda store: pushed_copy(store, "batch-1"),
    "anomalies.json": lambda store: not_said_yet(store, "batch-1", ["one"]),
}
WAYS = {
    "cut": lambda content: content[: len(content) // 2],
    "emptied": lambda _: b"",
    "list": lambda _: b"[]",
    "number": lambda _: b"7",
    "object": lambda _: b'{"x": 1}',
    "inside": lambda content: content.replace(b"[", b'[{"x": 1}, ') if b"[" in content else b"[3]",
    "binary": lambda _: b"\xff\xfe\x00",
}


def _relabelled(name: str, content: bytes) -> bytes:
    """Change one value to another of its type, like a person who corrects a file by hand."""
    if name.endswith(".parquet"):
        table = pd.read_parquet(io.BytesIO(content))
        column = next(name for name in table if table[name].dtype.kind == "f")
        table.loc[0, column] = 0.25
        changed = io.BytesIO()
        table.to_parquet(changed, index=False)
        return changed.getvalue()
    if name.endswith(".jsonl"):
        return content + content.splitlines(keepends=True)[-1]
    return json.dumps(json.loads(content), indent=1).encode()


def _refuses(read: Callable[[Store], object], store: Store, name: str) -> None:
    before = _files(store)
    with pytest.raises(InputError) as refused:
        read(store)
    said = str(refused.value)
    assert name.rpartition("/")[2] in said
    assert refused.value.hint
    assert not [word for word in LIBRARY_WORDS if word in said]
    assert _files(store) == before


def _files(store: Store) -> dict[str, bytes]:
    """Return the run's results; the manifest records the settings that a stage was begun with."""
    return {name: store.folder.read(name) for name in store.folder.names() if name not in {SHORTLIST, MANIFEST}}


@pytest.mark.parametrize(("name", "way"), [(name, way) for name in RESULTS for way in (*WAYS, "relabelled")])
def test_a_damaged_result_is_refused(
    name: str, way: str, tmp_path: Path, isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    example_run(tmp_path)
    monkeypatch.setenv("ABCDLINK_RUNS", str(tmp_path))
    get_settings.cache_clear()
    store = open_run("harbour")
    content = store.folder.read(name)
    if way in {"emptied", "relabelled"}:
        store.accept(name)  # not a run of an earlier version: the SHA-256 of its results is kept
    store.folder.write(name, WAYS[way](content) if way in WAYS else _relabelled(name, content))
    _refuses(RESULTS[name], store, name)


@pytest.mark.parametrize(
    ("name", "way"),
    [(name, way) for name in OF_PROJECTS for way in WAYS if (name, way) != ("anomalies.json", "list")],
)
def test_a_damaged_file_on_a_project_is_refused(
    name: str, way: str, isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(monkeypatch)
    store, name = pushed_run("harbour", 2), f"label-studio/batch-1/{name}"
    server.answer(read_pushed(store, "batch-1").task_keys[0], ADA)
    look(store)
    not_said_yet(store, "batch-1", ["a task vanished"])
    store.folder.write(name, WAYS[way](store.folder.read(name)))
    _refuses(OF_PROJECTS[name.rpartition("/")[2]], store, name)
