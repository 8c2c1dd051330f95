"""The library's packages form layers: computed from all imports, including those inside functions."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import abcdlink

LIBRARY = Path(__file__).parents[2] / "abcdlink"
LOW_TO_HIGH = ("errors", "store", "corpus", "judgments", "llm", "linking", "evaluation", "stages", "report", "cli")
"""A few layers by name; the others follow from their imports."""


@cache
def imports(path: Path) -> set[str]:
    """Return the modules that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def imported(path: Path, package: str) -> set[str]:
    """Return those that are in the package."""
    return {name for name in imports(path) if f"{name}.".startswith(f"{package}.")}


def layer_of(module: str) -> str:
    return module.split(".")[1]


def layers(library: Path) -> dict[str, set[str]]:
    """Return package or top-level module -> those it imports."""
    found: dict[str, set[str]] = {}
    for path in library.rglob("*.py"):
        parts = path.relative_to(library).with_suffix("").parts
        if parts in {("__init__",), ("__main__",)}:  # the entry point, which imports every package
            continue
        mine = layer_of(".".join((library.name, *parts)))
        below = {layer_of(name) for name in imported(path, library.name) if "." in name} - {mine, "__version__"}
        found.setdefault(mine, set()).update(below)
    return found


def test_no_package_imports_one_that_imports_it() -> None:
    found = layers(LIBRARY)
    below: dict[str, set[str]] = {}
    for name in TopologicalSorter(found).static_order():
        below[name] = set().union(*({lower, *below[lower]} for lower in found.get(name, ())))
    assert len(below) > 20
    for place, name in enumerate(LOW_TO_HIGH):
        assert below[name].isdisjoint(LOW_TO_HIGH[place:])


def test_no_two_classes_have_one_name() -> None:
    folders = ("abcdlink", "tasks", "flows", "labelstudio_config", "services")
    texts = (path.read_text(encoding="utf-8") for name in folders for path in (LIBRARY.parent / name).rglob("*.py"))
    found = Counter(name for text in texts for name in re.findall(r"^class ([A-Z]\w*)", text, re.MULTILINE))
    assert [name for name, count in found.items() if count > 1] == []


def test_no_test_imports_another() -> None:
    """What several need is in ``tests/helpers``."""
    tests = (LIBRARY.parent / "tests").rglob("*.py")
    assert not [path.name for path in tests if any(".test_" in name for name in imported(path, "tests"))]


def test_a_cycle_is_found(tmp_path: Path) -> None:
    for name, text in {"a": "from lib.b import x", "b": "def f():\n    import lib.c", "c": "from lib import a"}.items():
        (tmp_path / "lib").mkdir(exist_ok=True)
        (tmp_path / "lib" / f"{name}.py").write_text(text)
    with pytest.raises(CycleError):
        list(TopologicalSorter(layers(tmp_path / "lib")).static_order())


def test_the_library_imports_nothing_above_it() -> None:
    above = ("prefect", "label_studio_sdk", "flows", "tasks", "labelstudio_config", "services")
    wrong = {
        path.relative_to(LIBRARY): name
        for path in LIBRARY.rglob("*.py")
        for package in above
        for name in imported(path, package)
    }
    assert wrong == {}


TOKENIZES = "from abcdlink.languages import tokenizer; assert tokenizer()('No torch.') == ['No', 'torch', '.']"
TOO_HEAVY = {
    "import abcdlink": "label_studio_sdk numpy pandas prefect sklearn spacy torch",
    "from abcdlink.cli.app import make_app; make_app()": "label_studio_sdk pandas prefect spacy torch",
    "import abcdlink.retrieval, abcdlink.linking.decisions": "pandas prefect scipy sentence_transformers spacy torch",
    "import abcdlink.linking.cutoffs, abcdlink.linking.learned": "pandas sklearn skops spacy",
    "import abcdlink.evaluation": "pandas prefect scipy sentence_transformers sklearn skops spacy torch",
    TOKENIZES: "torch",
}
"""Code -> libraries that it must not load."""
SCRIPT = """
import json, os, sys
for code, heavy in json.loads(sys.argv[1]).items():
    if os.fork() == 0:
        exec(code)
        print(json.dumps([code, [name for name in heavy.split() if name in sys.modules]]), flush=True)
        os._exit(0)
    os.wait()
    import jinja2, numpy, pydantic_settings, typer.rich_utils
"""
"""Runs each code in a fork of a Python that has imported nothing at first, and then what all of them need."""


@pytest.fixture(scope="module")
def loaded() -> dict[str, list[str]]:
    """Code -> the forbidden modules it loaded."""
    command = [sys.executable, "-c", SCRIPT, json.dumps(TOO_HEAVY)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return dict(map(json.loads, done.stdout.splitlines()))


@pytest.mark.parametrize("code", TOO_HEAVY)
def test_imports_load_nothing_heavy(code: str, loaded: dict[str, list[str]]) -> None:
    assert loaded[code] == []


def test_every_public_name_exists() -> None:
    for name in abcdlink.__all__:
        assert callable(getattr(abcdlink, name)), name
    assert set(abcdlink.__all__) <= set(dir(abcdlink))
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = abcdlink.nothing_of_the_kind
