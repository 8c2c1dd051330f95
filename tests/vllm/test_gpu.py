"""A smoke test of the engine on a GPU with the small model; skipped with the reason where there is no GPU."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from abcdlink.llm import vllm as engine
from abcdlink.llm.client import LLM
from abcdlink.llm.records import Message, Outcome, Question
from abcdlink.settings import Settings
from tests.vllm.server import ENVIRONMENT, MODEL, require_environment

pytestmark = pytest.mark.timeout(2400)
LOOK = "import torch; print(torch.version.cuda or 'none', torch.cuda.device_count())"


def require_gpu() -> None:
    """Skip the calling test where vLLM's environment sees no GPU."""
    require_environment()
    looked = subprocess.run([ENVIRONMENT / "bin" / "python", "-c", LOOK], capture_output=True, text=True, check=True)
    cuda, cards = looked.stdout.split()[-2:]
    if cuda == "none":
        pytest.skip("vLLM in .venv-vllm is built for CPUs and cannot use a GPU")
    if cards == "0":
        pytest.skip(f"this machine has no GPU that CUDA {cuda} sees")


def test_the_engine_answers_on_a_gpu(isolated_home: Path) -> None:
    require_gpu()
    isolated_home.mkdir()
    serve = isolated_home / "serve.yaml"
    serve.write_text(f"model: {MODEL}\nmax-model-len: 4096\nenable-prefix-caching: true\n")
    settings = Settings(_env_file=None, llm_engine="vllm", llm_serve=str(serve), llm_model="small", home=isolated_home)
    schema = {"type": "object", "properties": {"1": {"type": "boolean"}}, "required": ["1"]}
    questions = [
        Question(messages=(Message(role="user", content=f"Is {n} even?"),), json_schema=schema, stage="s")
        for n in range(64)
    ]
    try:
        answers = LLM(settings).ask_many(questions)
    finally:
        engine.stop()
    assert {answer.outcome for answer in answers} == {Outcome.OK}
