"""The files in ``deployments/vllm``: every line is an option of the vLLM that is installed. They need a GPU to run."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.vllm.server import ENVIRONMENT, ROOT, require_environment

FILES = sorted((ROOT / "deployments" / "vllm").glob("*.yaml"))
PARSE = """
import json, sys
from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.entrypoints.launchers.cli_args import make_arg_parser, validate_parsed_serve_args
from vllm.utils.argparse_utils import FlexibleArgumentParser

parsed = {}
for file in sys.argv[1:]:
    given = make_arg_parser(FlexibleArgumentParser()).parse_args(["--config", file])
    validate_parsed_serve_args(given)
    engine = AsyncEngineArgs.from_cli_args(given)
    parsed[file] = {
        "model": engine.model,
        "prefix caching": engine.enable_prefix_caching,
        "cached tokens": given.enable_prompt_tokens_details,
        "backend": engine.structured_outputs_config.backend,
    }
print(json.dumps(parsed))
"""


@pytest.fixture(scope="module")
def parsed() -> dict[str, dict[str, object]]:
    """The files as read by vLLM's own parser; importing it takes most of the time."""
    require_environment()
    command = [ENVIRONMENT / "bin" / "python", "-c", PARSE, *FILES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_vllm_knows_every_option(file: Path, parsed: dict[str, dict[str, object]]) -> None:
    found = parsed[str(file)]
    assert found.pop("model")
    assert found == {"prefix caching": True, "cached tokens": True, "backend": "guidance"}


def test_an_option_unknown_to_vllm_is_noticed(tmp_path: Path) -> None:
    require_environment()
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("model: microsoft/phi-4\nenable-prefix-cashing: true\n", encoding="utf-8")
    done = subprocess.run([ENVIRONMENT / "bin" / "python", "-c", PARSE, wrong], capture_output=True, check=False)
    assert b"enable-prefix-cashing" in done.stderr
    assert done.returncode != 0
