"""The check of a server before use, and of addresses."""

from __future__ import annotations

import pytest

from abcdlink.errors import InputError, ServiceError
from abcdlink.llm.client import LLM
from abcdlink.llm.records import Outcome
from abcdlink.settings import Settings
from tests.helpers.fake_llm import FakeLLM, error, says
from tests.helpers.llm_batch import KEY, YES_NO, ask, dead_port


def test_no_proxy_is_used_for_this_machine_itself(isolated_home, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with FakeLLM(says(YES_NO)) as server:
        assert ask(server, isolated_home).outcome is Outcome.OK


def test_check_passes_if_the_model_is_served(isolated_home):
    with FakeLLM() as server:
        LLM(server.settings(isolated_home)).check()
    assert len(server.requests) == 1


def test_check_of_a_dead_endpoint_names_the_address_and_the_fix(isolated_home):
    url = f"http://127.0.0.1:{dead_port()}/v1"
    with pytest.raises(ServiceError) as dead:
        LLM(Settings(_env_file=None, llm_base_url=url, home=isolated_home)).check()
    assert url in dead.value.problem
    assert "ABCDLINK_LLM_BASE_URL" in dead.value.hint


def test_check_of_a_dead_embedded_server_says_how_to_start_it(isolated_home):
    port = dead_port()
    with pytest.raises(ServiceError) as dead:
        LLM(Settings(_env_file=None, llm_port=port, home=isolated_home)).check()
    assert f"http://127.0.0.1:{port}/v1" in dead.value.problem
    assert "abcdlink up" in dead.value.hint


def test_check_of_an_unknown_model_lists_those_served(isolated_home):
    with FakeLLM(models=("a", "b")) as server:
        server.shows = error(400, "model not found")
        with pytest.raises(ServiceError) as unknown:
            LLM(server.settings(isolated_home)).check()
    assert "'fake-model'" in unknown.value.problem
    assert "a, b" in unknown.value.hint


def test_an_unlisted_model_that_answers_passes_with_a_warning_after_one_question(isolated_home, caplog):
    with FakeLLM(models=("other:free",)) as server:
        LLM(server.settings(isolated_home)).check()
        LLM(server.settings(isolated_home)).check()
    assert len(server.probes) == 1
    assert "does not list the model 'fake-model'" in caplog.text


def test_a_query_in_the_address_is_refused_with_an_alternative(isolated_home):
    url = "https://x.openai.azure.com/openai/deployments/gpt-4o?api-version=2024-10-21"
    with pytest.raises(InputError) as wrong:
        LLM(Settings(_env_file=None, llm_base_url=url, home=isolated_home))
    assert "query" in wrong.value.problem
    assert "/openai/v1" in wrong.value.hint


def test_white_space_around_a_setting_is_ignored(isolated_home):
    with FakeLLM() as server:
        llm = LLM(server.settings(isolated_home, llm_base_url=f" {server.base_url}\n", llm_model="fake-model "))
        llm.check()
        assert llm.settings.llm_model == "fake-model"


def test_check_of_a_wrong_key_names_the_setting(isolated_home):
    with FakeLLM(key="right") as server, pytest.raises(ServiceError, match="ABCDLINK_LLM_API_KEY"):
        LLM(server.settings(isolated_home, llm_api_key=KEY)).check()


def test_check_of_an_address_without_v1_says_so(isolated_home):
    with FakeLLM() as server, pytest.raises(ServiceError, match="/v1"):
        LLM(server.settings(isolated_home, llm_base_url=server.base_url.removesuffix("/v1"))).check()


@pytest.mark.parametrize("url", ["localhost:8000/v1", "my server", "http://", "http://[::1", "http://u:pw@h:x/v1"])
def test_an_invalid_address_is_reported_at_once(isolated_home, url):
    with pytest.raises(InputError) as wrong:
        LLM(Settings(_env_file=None, llm_base_url=url, home=isolated_home))
    assert "ABCDLINK_LLM_BASE_URL" in wrong.value.problem
    assert "pw" not in str(wrong.value)
