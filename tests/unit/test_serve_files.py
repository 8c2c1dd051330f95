"""The files that serve models with vLLM: their abcdlink settings exist and name the served model."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from abcdlink.settings import Settings
from tests import ROOT

FILES = sorted((ROOT / "deployments" / "vllm").glob("*.yaml"))
SETTING = re.compile(r"^# (ABCDLINK_\w+)=(.*)$", re.MULTILINE)


def test_each_promised_model_has_a_file() -> None:
    models = {yaml.safe_load(file.read_text(encoding="utf-8"))["model"] for file in FILES}
    assert {"microsoft/phi-4", "Qwen/Qwen2.5-32B-Instruct", "Qwen/Qwen2.5-32B-Instruct-AWQ"} < models


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_settings_in_a_file_lead_to_its_model(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = file.read_text(encoding="utf-8")
    served, given = yaml.safe_load(text), dict(SETTING.findall(text))
    assert set(given) <= {f"ABCDLINK_{name.upper()}" for name in Settings.model_fields}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert Settings(_env_file=None).llm_model == served["model"]
    assert given["ABCDLINK_LLM_BASE_URL"].endswith(":8000/v1"), "vLLM's own port"
    assert f"vllm serve --config {file.relative_to(ROOT)}" in text
    assert served["enable-prefix-caching"], "else every question reads the documents again"
    assert served["enable-prompt-tokens-details"], "else the cached tokens are not counted"
