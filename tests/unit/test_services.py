"""The servers of one machine, with small programs in the place of the real ones."""

from __future__ import annotations

import json
import os
import socket
import stat
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.errors import InputError
from abcdlink.settings import SECRETS_FILE, Settings, get_settings
from services import doctor, environment, status
from services.credentials import ensure_credentials, make_home
from services.health import worker_is_online
from services.ports import holder, is_free, next_free
from services.programs import label_studio_port, local_programs
from services.records import Result, ServiceState


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


# --- what is started, and with what ----------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "names"),
    [
        ({}, {"prefect", "label-studio", "llm", "worker"}),
        ({"llm_base_url": "http://gpu/v1"}, {"prefect", "label-studio", "worker"}),
        ({"label_studio_url": "https://annotate.example.org"}, {"prefect", "llm", "worker"}),
    ],
)
def test_servers_elsewhere_are_not_started(changed, names):
    assert {program.name for program in local_programs(Settings(**changed))} == names


@pytest.mark.parametrize(
    ("url", "port"),
    [("http://127.0.0.1:8080", 8080), ("http://localhost", 80), ("https://localhost/", 443)],
)
def test_port_of_label_studio(url, port):
    assert label_studio_port(Settings(label_studio_url=url)) == port


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8080", "http://127.0.0.1:http", "http://", "ftp://127.0.0.1:1", "http://a:"]
)
def test_no_address_of_label_studio(url):
    with pytest.raises(InputError, match="ABCDLINK_LABEL_STUDIO_URL"):
        label_studio_port(Settings(label_studio_url=url))


def test_programs_read_back_the_settings_they_are_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = Settings(home=Path("here"), llm_model="m", llm_api_key="k", prefect_port=4711, runs="runs", threads=3)
    for name, value in environment(told).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir("/")
    read = Settings()
    assert read == told.model_copy(update={"home": tmp_path / "here", "runs": str(tmp_path / "runs")})
    assert os.environ["PREFECT_API_URL"] == "http://127.0.0.1:4711/api"
    assert os.environ["PREFECT_HOME"].startswith(str(tmp_path / "here"))
    assert os.environ["OMP_NUM_THREADS"] == "3"


def test_runs_on_s3_stay_there():
    assert environment(Settings(runs="s3://bucket/runs"))["ABCDLINK_RUNS"] == "s3://bucket/runs"


# --- the account of the local Label Studio ----------------------------------------------------


def test_the_account_is_made_once_and_kept_from_others(tmp_path):
    settings = Settings(home=tmp_path / "home")
    made = ensure_credentials(settings)
    path = tmp_path / "home" / SECRETS_FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (tmp_path / "home" / ".gitignore").read_text() == "*\n"
    assert ensure_credentials(settings) == made
    assert len(made.token.get_secret_value()) == 40
    assert get_settings().label_studio_token == made.token


def test_two_homes_have_two_accounts(tmp_path):
    one, two = (ensure_credentials(Settings(home=tmp_path / name)) for name in "ab")
    assert one.token != two.token
    assert one.password != two.password


def test_a_lost_file_of_secrets_is_not_made_up_again(tmp_path):
    (tmp_path / "label-studio").mkdir()
    (tmp_path / "label-studio" / "label_studio.sqlite3").write_bytes(b"accounts")
    with pytest.raises(InputError, match=r"secrets\.env is gone"):
        ensure_credentials(Settings(home=tmp_path))


def test_a_damaged_file_of_secrets_names_what_is_missing(tmp_path):
    (tmp_path / SECRETS_FILE).write_text("ABCDLINK_LABEL_STUDIO_USER=a\nABCDLINK_LABEL_STUDIO_TOKEN=\n")
    with pytest.raises(InputError, match="ABCDLINK_LABEL_STUDIO_PASSWORD and ABCDLINK_LABEL_STUDIO_TOKEN"):
        ensure_credentials(Settings(home=tmp_path))


def test_a_git_repository_as_home_keeps_its_own_rules(tmp_path):
    (tmp_path / ".git").mkdir()
    make_home(Settings(home=tmp_path))
    assert not (tmp_path / ".gitignore").exists()


# --- ports -------------------------------------------------------------------------------------


def test_who_holds_a_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert not is_free(port)
        assert f"process {os.getpid()}" in holder(port)
        assert next_free(port) != port
        assert next_free(port, {next_free(port)}) not in {port, next_free(port)}
    assert is_free(port)


@given(st.integers(1, 65535))
def test_the_next_free_port_is_a_free_one(port):
    found = next_free(port)
    assert 1 <= found <= 65535
    assert found != port
    assert is_free(found)


# --- servers that answer in their own way --------------------------------------------------------


@pytest.fixture
def server() -> Iterator[tuple[str, dict[str, tuple[int, object]]]]:
    """A web server with given answers: ``{"GET /path": (status, JSON value)}``; all else is 404."""
    replies: dict[str, tuple[int, object]] = {}

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            self.rfile.read(length)
            status_code, value = replies.get(f"{self.command} {self.path}", (404, "none"))
            body = json.dumps(value).encode()
            self.send_response(status_code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = _answer  # noqa: N815 - names given by http.server

        def log_message(self, *_: object) -> None:
            """Keep the tests quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{http.server_address[1]}", replies
        http.shutdown()


def test_a_worker_counts_as_online_by_its_own_name_only(server):
    url, replies = server
    replies["POST /work_pools/pool/workers/filter"] = (200, [{"name": "another"}])
    assert not worker_is_online(url, "pool", "mine", time.time())
    replies["POST /work_pools/pool/workers/filter"] = (200, [{"name": "another"}, {"name": "mine"}])
    assert worker_is_online(url, "pool", "mine", time.time())
    assert not worker_is_online(url, "no such pool", "mine", time.time())
    assert not worker_is_online(f"http://127.0.0.1:{free_port()}", "pool", "mine", time.time())


def checks_of(settings: Settings) -> dict[str, tuple[Result, str, str]]:
    return {check.name: (check.result, check.what, check.mend) for check in doctor(settings)}


def test_doctor_on_a_new_machine(tmp_path):
    settings = Settings(home=tmp_path, prefect_port=free_port(), llm_port=free_port())
    settings = settings.model_copy(update={"label_studio_url": f"http://127.0.0.1:{free_port()}"})
    found = checks_of(settings)
    assert found[f"port {settings.prefect_port}"][:2] == (Result.OK, "free for prefect")
    assert found["secrets"][0] is Result.OK
    assert found["label studio token"][0] is Result.WARN
    assert found["llm"] == (Result.WARN, "the embedded LLM does not answer", "run `abcdlink up`")
    assert all(mend for result, _, mend in found.values() if result is not Result.OK)


def test_doctor_names_what_is_wrong_elsewhere(tmp_path, server):
    url, replies = server
    settings = Settings(home=tmp_path, llm_base_url=f"{url}/v1", llm_model="mine", label_studio_url=url)
    settings = settings.model_copy(update={"label_studio_token": Settings(label_studio_token="t").label_studio_token})

    replies["GET /v1/models"] = (401, {})
    replies["GET /api/current-user/whoami"] = (401, {})
    found = checks_of(settings)
    assert found["llm"][:2] == (Result.FAIL, f"{url}/v1 answers with status 401")
    assert found["label studio token"][:2] == (Result.FAIL, f"{url}: the token is not valid")

    replies["GET /v1/models"] = (200, {"data": [{"id": "other"}]})
    replies["GET /api/current-user/whoami"] = (200, ["a web site"])
    found = checks_of(settings)
    assert found["llm"][0] is Result.WARN
    assert "other" in found["llm"][2]
    assert "something other than Label Studio" in found["label studio token"][1]

    replies["GET /v1/models"] = (200, {"data": [{"id": "mine"}]})
    replies["GET /api/current-user/whoami"] = (200, {"email": "me@example.org"})
    found = checks_of(settings)
    assert found["llm"][0] is Result.OK
    assert found["label studio token"][:2] == (Result.OK, f"belongs to me@example.org at {url}")


def test_doctor_sees_secrets_that_others_can_read_and_a_taken_port(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as mine:
        settings = Settings(home=tmp_path, prefect_port=mine.getsockname()[1])
        ensure_credentials(settings)
        (tmp_path / SECRETS_FILE).chmod(0o644)
        found = checks_of(settings)
    assert found["secrets"][0] is Result.FAIL
    assert "chmod 600" in found["secrets"][2]
    result, what, mend = found[f"port {settings.prefect_port}"]
    assert result is Result.FAIL
    assert f"process {os.getpid()}" in what
    assert "ABCDLINK_PREFECT_PORT" in mend


def test_status_of_servers_elsewhere(tmp_path, server):
    url, replies = server
    replies["GET /v1/models"] = (200, {"data": []})
    elsewhere = Settings(home=tmp_path, llm_base_url=f"{url}/v1", label_studio_url="http://label-studio.invalid")
    found = {service.name: service for service in status(elsewhere).services}
    assert (found["llm"].state, found["llm"].managed) == (ServiceState.READY, False)
    assert (found["label-studio"].state, found["label-studio"].detail) == (ServiceState.FAILED, "does not answer")
    assert found["prefect"].state is ServiceState.STOPPED
