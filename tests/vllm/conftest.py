"""One vLLM server for the whole test session; its log is shown with every test that fails."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import pytest

from tests.vllm.server import VllmServer, require_environment, vllm_server


@pytest.fixture(scope="session")
def vllm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    """A real vLLM server; tests that ask for it are skipped where vLLM is not installed."""
    require_environment()
    with vllm_server(tmp_path_factory.mktemp("vllm")) as server:
        yield server


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the end of the server's log to the report of a test that fails."""
    report = yield
    server = getattr(item, "funcargs", {}).get("vllm")
    if report.failed and server is not None:
        report.sections.append(("the log of vLLM ends", server.log.read_text(errors="replace")[-6000:]))
    return report
