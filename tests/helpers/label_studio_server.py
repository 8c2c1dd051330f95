"""A real Label Studio server for one test session."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from labelstudio_config.client import Client, connect
from labelstudio_config.server import ENVIRONMENT as EXTENSION
from tests import ROOT
from tests.helpers.waiting import until

PROGRAM = ROOT / ".venv-label-studio" / "bin" / "label-studio"
TEMPLATE = PROGRAM.parents[1] / "template" / "label_studio.sqlite3"
"""The empty tables that `make setup` prepares; with them a start takes a fifth of the time."""
QUICK = """
from label_studio.core.settings.base import *
from {settings} import *
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
"""
"""Settings of a server with cheap accounts: by default a password is hashed a million times."""


def _is_not_ours() -> None:
    pytest.fail("this Label Studio was not started by the tests")


@dataclass(frozen=True)
class LabelStudioServer:
    """Where the server is, its coordinator's account, and how it is stopped (as in a power cut) and started again."""

    url: str
    token: str = "0123456789abcdef0123456789abcdef01234567"
    email: str = "coordinator@example.org"
    password: str = "a-password-for-tests"
    kill: Callable[[], None] = _is_not_ours
    start: Callable[[], None] = _is_not_ours


def free_port() -> int:
    """Return a free port on the loopback interface."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def label_studio_server(folder: Path, *, extended: bool = True) -> Iterator[LabelStudioServer]:
    """Run Label Studio with its data in ``folder`` while the context is open; skips where it is not installed.

    ``extended``: as `abcdlink up` starts it, otherwise unmodified.
    """
    if not PROGRAM.exists():
        pytest.skip(f"Label Studio is not installed ({PROGRAM}); `make setup` installs it")
    port = free_port()
    running: list[subprocess.Popen[bytes]] = []

    def start() -> None:
        with log.open("ab") as output:
            running.append(
                subprocess.Popen(
                    command,
                    cwd=folder,
                    env=environment,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            )
        _wait(server, running[-1], log)

    def kill() -> None:
        process = running.pop()
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    server = LabelStudioServer(f"http://127.0.0.1:{port}", kill=kill, start=start)
    database = folder / "data" / "label_studio.sqlite3"
    database.parent.mkdir()
    if TEMPLATE.exists():
        shutil.copy(TEMPLATE, database)
    theirs = {"PYTHONPATH": "", "DJANGO_SETTINGS_MODULE": "label_studio.core.settings.label_studio"}
    settings = EXTENSION if extended else theirs
    (folder / "quick_settings.py").write_text(QUICK.format(settings=settings["DJANGO_SETTINGS_MODULE"]))
    environment = {
        **os.environ,
        **settings,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(folder), settings["PYTHONPATH"]])),
        "DJANGO_SETTINGS_MODULE": "quick_settings",
        "LABEL_STUDIO_BASE_DATA_DIR": str(folder / "data"),
        "LABEL_STUDIO_USERNAME": server.email,
        "LABEL_STUDIO_PASSWORD": server.password,
        "LABEL_STUDIO_USER_TOKEN": server.token,
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
        "COLLECT_ANALYTICS": "false",
        "LATEST_VERSION_CHECK": "false",
        "FEATURE_FLAGS_OFFLINE": "true",
        "SENTRY_DSN": "",
        "FRONTEND_SENTRY_DSN": "",
        "GIT_DIR": os.devnull,
        "DISABLE_SIGNUP_WITHOUT_LINK": "true",
    }
    command = [str(PROGRAM), "start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(port)]
    log = folder / "label-studio.log"
    try:
        start()
        yield server
    finally:
        for process in running:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _wait(server: LabelStudioServer, process: subprocess.Popen[bytes], log: Path) -> None:
    def answers() -> bool:
        if process.poll() is not None:
            pytest.fail(f"Label Studio ended:\n{log.read_text(errors='replace')[-2000:]}")
        with suppress(httpx.HTTPError):
            return http.get(f"{server.url}/health").is_success
        return False

    with httpx.Client(timeout=60) as http:
        until(answers, "a Label Studio that answers")


@pytest.fixture(scope="session")
def label_studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabelStudioServer]:
    """A real Label Studio server, one for the whole test session."""
    with label_studio_server(tmp_path_factory.mktemp("label-studio")) as server:
        yield server


@pytest.fixture
def client(label_studio: LabelStudioServer) -> Client:
    """The coordinator's connection."""
    return connect(label_studio.url, label_studio.token)
