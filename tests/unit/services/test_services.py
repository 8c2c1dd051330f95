"""The servers of one machine, with small programs in place of the real ones."""

from __future__ import annotations

import asyncio
import configparser
import os
import socket
import stat
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from abcdlink.errors import InputError
from abcdlink.llm.profiles import profile
from abcdlink.settings import SECRETS_FILE, Settings, get_settings
from services import Heartbeat, read_heartbeat
from services.credentials import ensure_credentials, ensure_prefect_auth, make_home, with_secrets
from services.health import holder, is_free, next_free
from services.prefect_server import OnlyOurPages
from services.programs import (
    environment,
    label_studio_port,
    local_programs,
    prefect_client_environment,
    prefect_server_environment,
)
from services.supervision import Supervisor

# --- what is started, and with what ----------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "names"),
    [
        ({}, {"prefect", "label-studio", "llm", "worker", "watcher"}),
        ({"llm_base_url": "http://gpu/v1"}, {"prefect", "label-studio", "worker", "watcher"}),
        ({"label_studio_url": "https://annotate.example.org"}, {"prefect", "llm", "worker", "watcher"}),
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


def test_programs_read_back_the_settings_they_are_given(tmp_path, monkeypatch):
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
    assert os.environ["PREFECT_RESULTS_DEFAULT_SERIALIZER"] == "json", "results of flows are never unpickled"


def test_programs_in_another_folder_find_the_profiles_and_their_keys(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "abcdlink.toml").write_text(
        '[llm.a]\nbase_url = "http://gpu/v1"\nmodel = "m"\napi_key_env = "A_KEY"\n'
        '[llm.b]\nbase_url = "http://gpu/v1"\nmodel = "m"\napi_key_env = "B_KEY"\n'
    )
    (tmp_path / ".env").write_text("A_KEY=from-the-file\n")
    told = environment(get_settings())
    assert (told["A_KEY"], "B_KEY" in told) == ("from-the-file", False)
    monkeypatch.chdir("/")
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    get_settings.cache_clear()
    assert profile("a").llm_api_key.get_secret_value() == "from-the-file"
    assert "B_KEY" in profile("b").llm_keyless


def test_the_home_may_be_named_in_env_where_its_secrets_are_then_looked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ABCDLINK_HOME")
    (tmp_path / ".env").write_text("ABCDLINK_HOME=there\n")
    made = ensure_credentials(get_settings())
    get_settings.cache_clear()
    assert get_settings().label_studio_token == made.token
    assert (tmp_path / "there" / SECRETS_FILE).exists()


def test_runs_on_s3_stay_there():
    assert environment(Settings(runs="s3://bucket/runs"))["ABCDLINK_RUNS"] == "s3://bucket/runs"


# --- the account of the local Label Studio ----------------------------------------------------


def test_the_account_is_made_once_and_kept_private(tmp_path):
    settings = Settings(home=tmp_path / "home")
    made = ensure_credentials(settings)
    path = tmp_path / "home" / SECRETS_FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (tmp_path / "home" / ".gitignore").read_text() == "*\n"
    assert ensure_credentials(settings) == made
    assert len(made.token.get_secret_value()) == 40
    assert get_settings().label_studio_token == made.token


def test_a_home_that_others_can_open_is_made_private(tmp_path):
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    make_home(Settings(home=home))
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_databases_are_private_and_runs_follow_the_users_permissions(tmp_path):
    config = configparser.RawConfigParser(strict=False)
    before = os.umask(0o027)
    try:
        config.read_string(Supervisor(tmp_path).render(local_programs(Settings(home=tmp_path)), {}))
    finally:
        os.umask(before)
    assert config["supervisord"]["umask"] == "077"
    masks = {name: config[f"program:{name}"].get("umask") for name in ("prefect", "label-studio", "worker", "watcher")}
    assert masks == {"prefect": None, "label-studio": None, "worker": "027", "watcher": "027"}


def test_prefects_password_is_added_to_existing_secrets_and_read_back(tmp_path):
    settings = Settings(home=tmp_path)
    account = ensure_credentials(settings)
    auth = ensure_prefect_auth(settings)
    assert ensure_prefect_auth(settings) == auth
    assert ensure_credentials(settings) == account
    assert auth.get_secret_value().startswith("coordinator:")
    known = with_secrets(settings)
    assert (known.prefect_auth, known.label_studio_token) == (auth, account.token)
    assert prefect_client_environment(known)["PREFECT_API_AUTH_STRING"] == auth.get_secret_value()
    server = prefect_server_environment(known)
    assert server["PREFECT_SERVER_API_AUTH_STRING"] == auth.get_secret_value()
    assert server["PREFECT_SERVER_CORS_ALLOWED_ORIGINS"] == "http://127.0.0.1:4200,http://localhost:4200"


def test_two_homes_have_two_accounts(tmp_path):
    one, two = (ensure_credentials(Settings(home=tmp_path / name)) for name in "ab")
    assert one.token != two.token
    assert one.password != two.password


def test_a_lost_secrets_file_is_not_replaced(tmp_path):
    (tmp_path / "label-studio").mkdir()
    (tmp_path / "label-studio" / "label_studio.sqlite3").write_bytes(b"accounts")
    with pytest.raises(InputError, match=r"secrets\.env is gone"):
        ensure_credentials(Settings(home=tmp_path))


def test_a_damaged_secrets_file_names_what_is_missing(tmp_path):
    (tmp_path / SECRETS_FILE).write_text("ABCDLINK_LABEL_STUDIO_USER=a\nABCDLINK_LABEL_STUDIO_TOKEN=\n")
    with pytest.raises(InputError, match="ABCDLINK_LABEL_STUDIO_PASSWORD and ABCDLINK_LABEL_STUDIO_TOKEN"):
        ensure_credentials(Settings(home=tmp_path))


def test_a_git_repository_as_home_keeps_its_own_gitignore(tmp_path):
    (tmp_path / ".git").mkdir()
    make_home(Settings(home=tmp_path))
    assert not (tmp_path / ".gitignore").exists()


# --- ports -------------------------------------------------------------------------------------


def test_the_owner_of_a_port_is_found():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert not is_free(port)
        assert f"process {os.getpid()}" in holder(port)
        assert next_free(port) != port
        assert next_free(port, {next_free(port)}) not in {port, next_free(port)}
    assert is_free(port)


@given(st.integers(1, 65535))
def test_the_next_free_port_is_free(port):
    found = next_free(port)
    assert 1 <= found <= 65535
    assert found != port
    assert is_free(found)


# --- who may ask ----------------------------------------------------------------------------------


def asked(headers: dict[str, str], kind: str = "http") -> list[dict[str, object]]:
    """Return what the server sends to a request with these headers."""
    sent: list[dict[str, object]] = []

    async def app(_scope: object, _receive: object, send: Callable[..., Awaitable[None]]) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive() -> dict[str, object]:
        return {"type": "http.request"}

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    asyncio.run(OnlyOurPages(app, 4200)({"type": kind, "headers": pairs, "method": "GET", "path": "/"}, receive, send))
    return sent


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "127.0.0.1:4200"},
        {"host": "localhost:4200"},
        {"host": "127.0.0.1:4200", "origin": "http://127.0.0.1:4200"},
        {"host": "127.0.0.1:4200", "origin": "http://localhost:4200"},
    ],
)
def test_our_pages_and_programs_are_served_and_cannot_be_framed(headers):
    (start,) = asked(headers)
    assert start["status"] == 200
    assert (b"x-frame-options", b"SAMEORIGIN") in start["headers"]


@given(host=st.text(st.characters(codec="ascii", exclude_characters="\r\n")))
def test_another_host_is_refused(host):
    assume(host not in {"127.0.0.1:4200", "localhost:4200"})
    assert asked({"host": host})[0]["status"] == 403


@pytest.mark.parametrize("origin", ["null", "http://evil.example", "http://127.0.0.1:8080", "https://127.0.0.1:4200"])
def test_another_sites_page_is_refused(origin):
    headers = {"host": "127.0.0.1:4200", "origin": origin}
    assert asked(headers)[0]["status"] == 403
    assert asked(headers, "websocket") == [{"type": "websocket.close", "code": 1008}]


# --- the watcher's sign of life ---------------------------------------------------------------------


def test_silence_and_faults_of_the_watcher_are_reported(tmp_path):
    assert read_heartbeat(tmp_path) is None
    now = datetime.now(UTC)
    Heartbeat(looked=now, waiting=2).write(tmp_path)
    fresh = read_heartbeat(tmp_path)
    assert fresh is not None
    assert (fresh.problem, fresh.waiting) == ("", 2)
    faults = {"annotate spring": "no pushed.json", "rate spring": "S3 is gone", "annotate autumn": "S3 is gone"}
    said = "run annotate spring: no pushed.json; runs rate spring, annotate autumn: S3 is gone"
    assert Heartbeat(looked=now, faults=faults).problem == said
    silent = Heartbeat(looked=now - timedelta(minutes=16), error="ConnectError")
    assert silent.problem == "nobody has checked on waiting runs for 16 minutes: ConnectError"
    (tmp_path / "watcher.json").write_text("{")
    assert read_heartbeat(tmp_path) is None
