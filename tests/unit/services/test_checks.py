"""Doctor and status: what runs, what is wrong, and how to fix it."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from abcdlink.settings import SECRETS_FILE, Settings
from services import Result, ServiceState
from services.checks import doctor
from services.credentials import ensure_credentials
from services.health import PrefectApi, free_port, holder, worker_is_online
from services.state import status
from services.supervision import Supervisor
from tests.helpers.forked import forked
from tests.helpers.homes import configure


@pytest.fixture
def server() -> Iterator[tuple[str, dict[str, tuple[int, object]]]]:
    """A web server with given answers: ``{"GET /path": (status, JSON value)}``; anything else is 404."""
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
        threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{http.server_address[1]}", replies
        http.shutdown()


def test_a_worker_counts_as_online_only_by_its_own_name(server):
    url, replies = server
    api = PrefectApi(int(url.rsplit(":", 1)[1]), "")
    replies["POST /api/work_pools/pool/workers/filter"] = (200, [{"name": "another"}])
    assert not worker_is_online(api, "pool", "mine", time.time())
    replies["POST /api/work_pools/pool/workers/filter"] = (200, [{"name": "another"}, {"name": "mine"}])
    assert worker_is_online(api, "pool", "mine", time.time())
    assert not worker_is_online(api, "no such pool", "mine", time.time())
    assert not worker_is_online(PrefectApi(free_port(), ""), "pool", "mine", time.time())


def test_a_busy_prefect_server_is_asked_again(server, monkeypatch):
    url, replies = server
    replies["GET /api/version"] = (503, "Service Unavailable")
    asked = []

    def wait(_seconds: float) -> None:
        asked.append("again")
        replies["GET /api/version"] = (200, "3.9")

    monkeypatch.setattr("services.health.time.sleep", wait)
    assert PrefectApi(int(url.rsplit(":", 1)[1]), "").read("GET", "/version") == "3.9"
    assert asked == ["again"]


def checks_of(settings: Settings) -> dict[str, tuple[Result, str, str]]:
    return {check.name: (check.result, check.what, check.hint) for check in doctor(settings)}


def test_doctor_on_a_new_machine(tmp_path):
    settings = Settings(home=tmp_path, prefect_port=free_port(), llm_port=free_port())
    settings = settings.model_copy(update={"label_studio_url": f"http://127.0.0.1:{free_port()}"})
    found = checks_of(settings)
    assert found[f"port {settings.prefect_port}"][:2] == (Result.OK, "free for prefect")
    assert found["secrets"][0] is Result.OK
    assert found["label studio token"][0] is Result.WARN
    assert found["llm"] == (Result.WARN, "the embedded LLM does not answer", "run `abcdlink up`")
    assert all(hint for result, _, hint in found.values() if result is not Result.OK)


def test_doctor_names_faults_of_remote_servers(tmp_path, server):
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


def test_doctor_checks_every_llm_profile(tmp_path, server, monkeypatch):
    url, replies = server
    replies["GET /v1/models"] = (200, {"data": [{"id": "mine"}]})
    file = tmp_path / "profiles.toml"
    there = f'base_url = "{url}/v1"'
    file.write_text(f"""
        [llm.good]
        {there}
        model = "mine"
        [llm.other]
        {there}
        model = "elsewhere"
        [llm.keyless]
        {there}
        model = "mine"
        api_key_env = "KEY_THAT_IS_NOT_SET"
        [llm.engine]
        engine = "vllm"
        model = "mine"
        python = "{tmp_path / "nowhere"}"
        """)
    configure(monkeypatch, config=file)
    found = checks_of(Settings(home=tmp_path))
    assert found["llm good"][0] is Result.OK
    assert found["llm other"] == (
        Result.WARN,
        f"{url}/v1 does not list the model elsewhere",
        f"set model in [llm.other] of {file} to one of: mine",
    )
    assert found["llm keyless"][0] is found["llm engine"][0] is Result.FAIL
    assert "KEY_THAT_IS_NOT_SET" in found["llm keyless"][1]
    assert "make setup-vllm" in found["llm engine"][2]
    file.write_text("[llm.good]\n")
    assert "[llm.good] has no base_url" in checks_of(Settings(home=tmp_path))["llm profiles"][1]


def test_doctor_notices_readable_secrets_and_a_taken_port(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as mine:
        settings = Settings(home=tmp_path, prefect_port=mine.getsockname()[1])
        ensure_credentials(settings)
        (tmp_path / SECRETS_FILE).chmod(0o644)
        found = checks_of(settings)
    assert found["secrets"][0] is Result.FAIL
    assert "chmod go=" in found["secrets"][2]
    result, what, hint = found[f"port {settings.prefect_port}"]
    assert result is Result.FAIL
    assert f"process {os.getpid()}" in what
    assert "ABCDLINK_PREFECT_PORT" in hint


def test_doctor_notices_keys_in_env_that_others_can_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / ".env"
    file.write_text("ABCDLINK_LLM_API_KEY=sk-1\n")
    file.chmod(0o640)
    result, what, hint = checks_of(Settings(home=tmp_path))["secrets in .env"]
    assert result is Result.FAIL
    assert "which sets ABCDLINK_LLM_API_KEY" in what
    assert hint == f"run `chmod go= {file}`"
    file.chmod(0o600)
    assert "secrets in .env" not in checks_of(Settings(home=tmp_path))
    file.write_text("ABCDLINK_THREADS=1\n")
    file.chmod(0o644)
    assert "secrets in .env" not in checks_of(Settings(home=tmp_path))


def test_doctor_notices_runs_that_cannot_be_written(tmp_path, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    configure(monkeypatch, s3_endpoint_url=f"http://127.0.0.1:{free_port()}")
    (tmp_path / "file").touch()
    for place, problem in (
        (str(tmp_path / "file"), "not a folder"),
        ("s3://bucket/runs", "no server answers at http:"),
    ):
        result, what, hint = checks_of(Settings(home=tmp_path, runs=place))["runs"]
        assert (result, problem in what, bool(hint)) == (Result.FAIL, True, True)
    assert checks_of(Settings(home=tmp_path))["runs"] == (Result.OK, str(tmp_path / "runs"), "")
    assert not (tmp_path / "runs").exists()


def test_the_holder_of_a_port_is_the_process_that_opened_it_not_its_child():
    with socket.create_server(("127.0.0.1", 0)) as mine:
        child = forked(signal.pause)
        assert f"(process {os.getpid()})" in holder(mine.getsockname()[1])
        child.kill()
        child.join()


def test_status_of_servers_elsewhere(tmp_path, server):
    url, replies = server
    replies["GET /v1/models"] = (200, {"data": []})
    elsewhere = Settings(home=tmp_path, llm_base_url=f"{url}/v1", label_studio_url="http://label-studio.invalid")
    found = {service.name: service for service in status(elsewhere).services}
    assert (found["llm"].state, found["llm"].managed) == (ServiceState.READY, False)
    assert (found["label-studio"].state, found["label-studio"].detail) == (ServiceState.FAILED, "does not answer")
    assert found["prefect"].state is ServiceState.STOPPED


@pytest.mark.parametrize(
    ("age", "said"), [(-60, ""), (1e9, "Watcher still runs the code from before")], ids=["newer", "older"]
)
def test_programs_that_are_older_than_the_code_are_named(tmp_path, monkeypatch, age, said):
    infos = {
        "watcher": {"statename": "RUNNING", "start": time.time() - age, "pid": os.getpid()},
        "llm": {"statename": "EXITED", "start": 1e9, "description": "", "pid": 0},
    }
    monkeypatch.setattr(Supervisor, "is_running", lambda _: True)
    monkeypatch.setattr(Supervisor, "states", lambda _: infos)
    monkeypatch.setattr(Supervisor, "differences", lambda *_: [])
    settings = Settings(home=tmp_path, label_studio_url="http://label-studio.invalid")
    found = checks_of(settings).get("running programs")
    assert (found is not None, " ".join(status(settings).notes).startswith(said)) == (bool(said), True)
    assert not said or found == (Result.FAIL, *found[1:2], "run `abcdlink down` and then `abcdlink up`; runs go on")


def test_status_in_a_folder_within_the_one_with_the_home_says_where_that_is(tmp_path, monkeypatch):
    (tmp_path / "a" / "b").mkdir(parents=True)
    ensure_credentials(Settings(home=tmp_path / ".abcdlink"))
    monkeypatch.chdir(tmp_path / "a" / "b")
    elsewhere = {"label_studio_url": "http://label-studio.invalid", "llm_base_url": "http://llm.invalid"}
    notes = status(Settings(home=".abcdlink", **elsewhere)).notes
    assert notes == [
        f"{tmp_path}/a/b/.abcdlink does not exist, but {tmp_path}/.abcdlink does: run abcdlink in {tmp_path}"
    ]
    monkeypatch.chdir(tmp_path)
    assert status(Settings(home=".abcdlink", **elsewhere)).notes == []
