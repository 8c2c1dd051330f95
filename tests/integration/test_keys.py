"""Keys of LLM profiles in Prefect's Secret blocks."""

from __future__ import annotations

from pathlib import Path

import pytest
from prefect.blocks.system import Secret
from prefect.settings import PREFECT_API_URL, temporary_settings

from abcdlink.errors import ServiceError
from abcdlink.llm.client import LLM
from abcdlink.llm.profiles import profile
from abcdlink.llm.records import Outcome
from tests.helpers.fake_llm import FakeLLM, says
from tests.helpers.llm_batch import KEY, YES_NO, question
from tests.helpers.stack import Stack


def test_a_key_is_read_from_its_block_and_a_missing_block_is_reported(stack: Stack, isolated_home: Path) -> None:
    isolated_home.mkdir()
    with FakeLLM(says(YES_NO), key=KEY) as server, temporary_settings({PREFECT_API_URL: stack.prefect.api}):
        address = f'base_url = "{server.base_url}"\nmodel = "fake-model"\n'
        (isolated_home / "abcdlink.toml").write_text(f'[llm.a]\n{address}api_key_block = "openai"\n')
        with pytest.raises(ServiceError, match=r"Prefect block openai, named by .*cannot be read"):
            LLM(profile("a")).check()
        Secret(value=KEY).save("openai")
        LLM(profile("a")).check()
        assert LLM(profile("a")).ask(question()).outcome is Outcome.OK
