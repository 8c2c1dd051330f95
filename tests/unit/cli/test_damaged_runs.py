"""A truncated or replaced file of a run is one clear message that names it, and nothing is changed."""

from __future__ import annotations

import io
import json
import shlex
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import cycle
from pathlib import Path

import pandas as pd
import pytest

from abcdlink.errors import InputError
from abcdlink.evaluation.shortlist import ShortlistRule
from abcdlink.layout import SHORTLIST, SYNTHETIC
from abcdlink.report.content import gather
from abcdlink.settings import get_settings
from abcdlink.stages.annotate import join_batches
from abcdlink.stages.benchmark import read_benchmark, read_scores
from abcdlink.stages.rank import read_rankings
from abcdlink.stages.shortlist import run_shortlist
from abcdlink.store import MANIFEST, SEAL, Store, open_run
from labelstudio_config.run import known_so_far, not_said_yet, pushed_copy, read_pushed, tasks_kept
from tests.helpers.batch_steps import look
from tests.helpers.example_run import example_run
from tests.helpers.fake_label_studio import ADA, pushed_run, serve
from tests.helpers.homes import configure

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


class Kept:
    """A folder of runs, made once, that each test damages and leaves as it was."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = self.now()

    def now(self) -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}

    def damage(self, name: str, damaged: Callable[[bytes], bytes]) -> Path:
        """Change a file of the run; returns which."""
        path = self.folder / "harbour" / name
        path.write_bytes(damaged(path.read_bytes()))
        return path

    def restore(self) -> set[Path]:
        """Undo all changes; returns the files that had changed, come or gone."""
        now = self.now()
        changed = {path for path in now.keys() | self.files.keys() if now.get(path) != self.files.get(path)}
        for path in changed:
            path.unlink(missing_ok=True)
            if path in self.files:
                path.write_bytes(self.files[path])
        return changed


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """The complete example run."""
    folder = tmp_path_factory.mktemp("example")
    example_run(folder)
    return Kept(folder)


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """A run with a project in which one task is answered."""
    folder = tmp_path_factory.mktemp("pushed")
    with pytest.MonkeyPatch.context() as patch:
        configure(patch, runs=folder)
        server, store = serve(patch), pushed_run("harbour", 2)
        server.answer(read_pushed(store, "batch-1").task_keys[0], ADA)
        look(store)
        not_said_yet(store, "batch-1", ["a task vanished"])
    get_settings.cache_clear()
    return Kept(folder)


@pytest.mark.parametrize(("name", "damage"), zip(READ_BY, cycle(DAMAGE), strict=False))
def test_a_damaged_file_is_named(
    name: str, damage: str, example: Kept, monkeypatch: pytest.MonkeyPatch, command: Callable[..., tuple[int, str, str]]
) -> None:
    configure(monkeypatch, runs=example.folder)
    file = example.damage(name, DAMAGE[damage])
    damaged = file.read_bytes()
    code, _, err = command(*shlex.split(READ_BY[name]))
    assert file.read_bytes() == damaged
    assert example.restore() == {file}
    assert code == 2, err
    assert file.name in err
    assert "Hint:" in err
    assert not [word for word in LIBRARY_WORDS if word in err]


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
FEW = ("cut", "object", "relabelled")
"""Ways for the further files of a kind; the first of each kind is damaged in every way."""


def damages(names: Iterable[str], ways: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield files and ways to damage them."""
    known: set[str] = set()
    for name in names:
        kind = name.partition(".")[2]
        yield from ((name, way) for way in ways if kind not in known or way in FEW)
        known.add(kind)


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


def _refuses(read: Callable[[Store], object], kept: Kept, file: Path) -> None:
    """Reading a damaged file is one clear error, and changes no result."""
    damaged = file.read_bytes()
    try:
        with pytest.raises(InputError) as refused:
            read(open_run("harbour", str(kept.folder)))
        assert file.read_bytes() == damaged
    finally:
        changed = kept.restore()
    # The manifest records the settings that a stage was begun with, and what was accepted.
    assert {path for path in changed if path.name not in {SHORTLIST, MANIFEST, file.name + SEAL}} == {file}
    said = str(refused.value)
    assert file.name in said
    assert refused.value.hint
    assert not [word for word in LIBRARY_WORDS if word in said]


@pytest.mark.parametrize(("name", "way"), damages(RESULTS, (*WAYS, "relabelled")))
def test_a_damaged_result_is_refused(name: str, way: str, example: Kept) -> None:
    if way in {"emptied", "relabelled"}:
        # No run of an earlier version: the SHA-256 of its results is kept.
        open_run("harbour", str(example.folder)).accept(name)
    _refuses(RESULTS[name], example, example.damage(name, WAYS.get(way, partial(_relabelled, name))))


@pytest.mark.parametrize(("name", "way"), damages(OF_PROJECTS, WAYS))
def test_a_damaged_file_on_a_project_is_refused(name: str, way: str, pushed: Kept) -> None:
    _refuses(OF_PROJECTS[name], pushed, pushed.damage(f"label-studio/batch-1/{name}", WAYS[way]))
