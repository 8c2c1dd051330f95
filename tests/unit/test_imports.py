"""Any part of the library can be imported first and loads no heavy library that it does not need."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import abcdlink

TOKENIZES = "from abcdlink.languages import tokenizer; assert tokenizer()('No torch.') == ['No', 'torch', '.']"
TOO_HEAVY = {
    "import abcdlink": "label_studio_sdk numpy pandas prefect sklearn spacy torch",
    "from abcdlink.cli.app import make_app; make_app()": "label_studio_sdk pandas prefect spacy torch",
    "import abcdlink.retrieval, abcdlink.linking.decisions": "pandas prefect scipy sentence_transformers spacy torch",
    "import abcdlink.linking.cutoffs": "pandas sklearn skops spacy",
    "import abcdlink.linking.learned": "pandas sklearn skops spacy",
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
