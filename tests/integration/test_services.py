"""Starting and stopping: first with small programs in place of the real ones, then with the real ones."""

from __future__ import annotations

import os
import signal
import socket
import stat
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import httpx
import psutil
import pytest

from abcdlink.errors import InputError, ServiceError
from abcdlink.settings import Settings, get_settings
from services import MARK, Result, ServiceState, Stack
from services.checks import doctor
from services.credentials import with_secrets
from services.health import answers, free_port, is_free
from services.programs import LABEL_STUDIO_COMMAND, Program, prefect_api
from services.start import down, up
from services.state import status
from services.supervision import SOCKET_LIMIT, Supervisor
from tests.helpers.homes import configure
from tests.helpers.waiting import WAIT, until

SERVE = ("-m", "http.server", "--bind", "127.0.0.1")


def web(name: str, port: int, after: str | None = None) -> Program:
    """A web server of the standard library, ready when it answers."""
    url = f"http://127.0.0.1:{port}"
    command = (sys.executable, *SERVE, str(port))
    return Program(name, command, partial(answers, url), url, port, "ABCDLINK_TRY_PORT={port}", after)


def python(name: str, code: str) -> Program:
    return Program(name, (sys.executable, "-c", code), lambda _started: False)


class Steps:
    """Progress that records what it is shown."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, items, label, total=None):  # noqa: ARG002 - the shape of Progress
        for item in items:
            self.lines.append(f"{label} begins")
            yield item
            self.lines.append(f"{label} done")


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    """Settings with servers elsewhere, so that nothing real is started."""
    made = Settings(
        home=tmp_path / "a home with spaces",
        label_studio_url="http://label-studio.invalid",
        llm_base_url="http://llm.invalid/v1",
        prefect_port=free_port(),
    )
    yield made
    down(made)


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> list[Program]:
    """The programs that ``up`` starts, filled in by the test."""
    listed: list[Program] = []
    for module in ("start", "state"):
        monkeypatch.setattr(f"services.{module}.local_programs", lambda _settings: list(listed))
    return listed


def states(settings: Settings) -> dict[str, ServiceState]:
    return {service.name: service.state for service in status(settings).services if service.managed}


def test_up_starts_in_order_of_dependency_and_down_leaves_nothing(settings, programs):
    first, second = free_port(), free_port()
    programs += [web("first", first), web("second", second, after="first")]
    steps = Steps()

    stack = up(settings, steps)

    assert stack.started == ["first", "second"]
    assert steps.lines == ["first begins", "first done", "second begins", "second done"]
    assert states(settings) == {"first": ServiceState.READY, "second": ServiceState.READY}
    assert "MB" in stack.services[0].detail

    assert down(settings).notes[0].startswith("stopped ")
    assert is_free(first)
    assert is_free(second)
    assert states(settings) == {"first": ServiceState.STOPPED, "second": ServiceState.STOPPED}
    assert down(settings).notes == ["nothing was running"]


def test_up_again_changes_nothing_and_names_changed_settings(settings, programs):
    programs += [web("one", free_port())]
    up(settings)
    before = Supervisor(settings.home.resolve()).states()["one"]["pid"]

    again = up(settings)

    assert again.started == []
    assert again.notes == ["everything was already running"]
    assert Supervisor(settings.home.resolve()).states()["one"]["pid"] == before
    with pytest.raises(InputError, match=r"\(ABCDLINK_LLM_MODEL\).*abcdlink down"):
        up(settings.model_copy(update={"llm_model": "another"}))
    assert states(settings) == {"one": ServiceState.READY}


def test_a_program_that_exits_is_shown_with_its_log_and_everything_stops(settings, programs):
    port = free_port()
    programs += [
        web("fine", port),
        python("broken", "print('first line'); print('no such model'); raise SystemExit(4)"),
    ]

    with pytest.raises(ServiceError, match=r"(?s)broken ended while it was starting.*broken\.log.*no such model"):
        up(settings)

    assert is_free(port)
    assert not Supervisor(settings.home.resolve()).is_running()
    assert not [p for p in psutil.process_iter() if _mark(p) == str(settings.home.resolve())]


def test_a_program_that_never_becomes_ready_is_given_up(settings, programs, monkeypatch):
    monkeypatch.setattr("services.start.START_SECONDS", 1.0)
    log = settings.home / "logs" / "slow.log"
    program = python("slow", "import time; print('thinking', flush=True); time.sleep(6000)")

    def never(_started: float) -> bool:
        until(lambda: "thinking" in log.read_text(), "a program that has begun")
        return False

    programs += [replace(program, is_ready=never)]
    with pytest.raises(ServiceError, match=r"(?s)slow is not ready after 1 s.*thinking"):
        up(settings)
    assert not Supervisor(settings.home.resolve()).is_running()


def test_only_stopped_programs_are_started_and_a_failure_leaves_the_rest(settings, programs):
    programs += [web("stays", free_port()), web("returns", free_port())]
    up(settings)
    supervisor = Supervisor(settings.home.resolve())
    stays = supervisor.states()["stays"]["pid"]
    supervisor.stop("returns")
    with socket.create_server(("127.0.0.1", programs[1].port or 0)), pytest.raises(ServiceError, match="is used by"):
        up(settings)

    assert up(settings).started == ["returns"]
    assert supervisor.states()["stays"]["pid"] == stays


def test_a_killed_program_comes_back(settings, programs):
    programs += [web("one", free_port())]
    up(settings)
    supervisor = Supervisor(settings.home.resolve())
    killed = supervisor.states()["one"]["pid"]
    until(lambda: supervisor.states()["one"]["statename"] == "RUNNING", "a program that the manager counts as started")
    os.kill(killed, signal.SIGKILL)
    until(lambda: supervisor.states()["one"]["pid"] not in {0, killed}, "another process")
    until(lambda: states(settings) == {"one": ServiceState.READY}, "a program that is ready")


def test_up_stops_what_a_killed_process_manager_left_behind(settings, programs):
    programs += [web("one", free_port())]
    up(settings)
    home = settings.home.resolve()
    left = Supervisor(home).states()["one"]["pid"]
    manager = int((home / "supervisord.pid").read_text())
    os.kill(manager, signal.SIGKILL)
    psutil.wait_procs([psutil.Process(manager)] if psutil.pid_exists(manager) else [], timeout=WAIT)

    stack = up(settings)

    assert f"process {left}" in stack.notes[0]
    assert not psutil.pid_exists(left)
    assert states(settings) == {"one": ServiceState.READY}


def test_temporary_files_are_private_and_removed_when_everything_stops(settings, programs):
    """What a killed worker leaves: Prefect writes a flow run's environment, with its secrets, to a temporary file."""
    programs += [web("one", free_port())]
    up(settings)
    supervisor = Supervisor(settings.home.resolve())
    scratch = Path(psutil.Process(supervisor.states()["one"]["pid"]).environ()["TMPDIR"])
    assert stat.S_IMODE(scratch.stat().st_mode) == 0o700
    (scratch / "left").write_text("secret")
    down(settings)
    assert not scratch.exists()


def test_a_taken_port_is_one_error_that_names_its_owner_and_the_fix(settings, programs):
    with socket.create_server(("127.0.0.1", 0)) as mine, socket.create_server(("127.0.0.1", 0)) as other:
        taken = [mine.getsockname()[1], other.getsockname()[1]]
        programs += [web("one", taken[0]), web("two", taken[1])]
        with pytest.raises(ServiceError) as caught:
            up(settings)
    assert f"port {taken[0]}, which one needs" in caught.value.problem
    assert f"port {taken[1]}, which two needs" in caught.value.problem
    assert f"process {os.getpid()}" in caught.value.problem
    assert "ABCDLINK_TRY_PORT=" in caught.value.hint
    assert not Supervisor(settings.home.resolve()).is_running()


def test_a_program_that_is_not_installed(settings, programs):
    programs += [Program("gone", ("/nowhere/gone",), lambda _started: True)]
    with pytest.raises(ServiceError, match=r"gone is not installed.*make setup"):
        up(settings)


def test_a_home_with_a_long_path_has_its_socket_elsewhere(settings, programs, tmp_path):
    deep = settings.model_copy(update={"home": tmp_path / ("d" * 100)})
    programs += [web("one", free_port())]
    try:
        assert up(deep).ready is False  # the remote servers do not answer
        supervisor = Supervisor(deep.home.resolve())
        assert len(str(supervisor.socket)) <= SOCKET_LIMIT
        assert stat.S_IMODE(supervisor.socket.parent.stat().st_mode) == 0o700
    finally:
        assert down(deep).notes == ["stopped one"]


@pytest.mark.parametrize("name", ["a #b", "a ;b", "a\nb", "50%"])
def test_a_home_that_the_process_manager_cannot_read(settings, programs, tmp_path, name):
    programs += [web("one", free_port())]
    with pytest.raises(InputError, match="another name"):
        up(settings.model_copy(update={"home": tmp_path / name}))


def test_no_secret_is_in_the_configuration(settings, programs):
    programs += [web("one", free_port())]
    secret = settings.model_copy(update={"llm_api_key": Settings(llm_api_key="sk-do-not-tell").llm_api_key})
    up(secret)
    config = settings.home / "supervisord.conf"
    assert "sk-do-not-tell" not in config.read_text()
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    pid = Supervisor(settings.home.resolve()).states()["one"]["pid"]
    assert psutil.Process(pid).environ()["ABCDLINK_LLM_API_KEY"] == "sk-do-not-tell"
    assert not any("sk-do-not-tell" in part for part in psutil.Process(pid).cmdline())


def _mark(process: psutil.Process) -> str | None:
    try:
        return process.environ().get(MARK)
    except psutil.Error:
        return None


# --- the real servers --------------------------------------------------------------------------

FLOW = """
from prefect import flow


@flow
def greet(name: str = "you") -> str:
    \"\"\"Greet.\"\"\"
    return f"hello {name}"
"""

PREFECT_FILE = """
name: try
deployments:
  - name: greet
    entrypoint: {folder}/greeting.py:greet
    work_pool: {{name: abcdlink}}
"""


@pytest.fixture(scope="module")
def prefect_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of deployments with one small flow."""
    folder = tmp_path_factory.mktemp("deployments")
    (folder / "greeting.py").write_text(FLOW)
    (folder / "prefect.yaml").write_text(PREFECT_FILE.format(folder=folder))
    return folder / "prefect.yaml"


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """The settings of a new machine; everything is down again after the tests."""
    if not LABEL_STUDIO_COMMAND.exists():
        pytest.skip("Label Studio is not installed: `make setup`")
    made = Settings(
        home=tmp_path_factory.mktemp("machine"),
        label_studio_url=f"http://127.0.0.1:{free_port()}",
        prefect_port=free_port(),
        llm_port=free_port(),
    )
    yield made
    down(made)


@pytest.fixture(scope="module")
def started(machine: Settings, prefect_file: Path) -> Stack:
    """The real servers, started."""
    return up(machine, prefect_file=prefect_file)


def test_everything_is_up(machine: Settings, started: Stack):
    assert started.ready
    assert started.started == ["prefect", "label-studio", "llm", "worker", "watcher"]
    assert "secrets.env" in started.login


def test_everything_listens_on_this_machine_only(machine: Settings, started: Stack):
    ports = {machine.prefect_port, machine.llm_port, httpx.URL(machine.label_studio_url).port}
    listening = [c for c in psutil.net_connections("tcp") if c.status == psutil.CONN_LISTEN and c.laddr.port in ports]
    assert {c.laddr.port for c in listening} == ports
    assert {c.laddr.ip for c in listening} == {"127.0.0.1"}


def test_doctor_finds_nothing_wrong(machine: Settings, started: Stack, monkeypatch):
    configure(monkeypatch, home=machine.home)
    token = get_settings().label_studio_token
    checks = {check.name: check for check in doctor(machine.model_copy(update={"label_studio_token": token}))}
    assert "coordinator@" in checks["label studio token"].what
    assert f"port {machine.prefect_port}" in checks
    assert [check for check in checks.values() if check.result is Result.FAIL] == []
    wrong = machine.model_copy(update={"label_studio_token": Settings(label_studio_token="0" * 40).label_studio_token})
    refused = next(check for check in doctor(wrong) if check.name == "label studio token")
    assert (refused.result, "not valid" in refused.what) == (Result.FAIL, True)


def test_up_again_starts_nothing(machine: Settings, started: Stack, prefect_file: Path):
    assert up(machine, prefect_file=prefect_file).started == []


def test_a_killed_worker_comes_back_and_runs_deployments(machine: Settings, started: Stack):
    supervisor = Supervisor(machine.home.resolve())
    killed = supervisor.states()["worker"]["pid"]
    os.kill(killed, signal.SIGKILL)
    until(lambda: supervisor.states()["worker"]["pid"] not in {0, killed}, "another worker")
    until(lambda: status(machine).ready, "servers that are ready")
    run = deployed(machine, "greet/greet")
    until(lambda: state_of(machine, run) == "COMPLETED", "a completed run")


def test_a_refused_deployment_is_one_error_and_leaves_the_servers_as_they_were(machine, started, tmp_path):
    supervisor = Supervisor(machine.home.resolve())
    supervisor.stop("worker")
    (tmp_path / "prefect.yaml").write_text(PREFECT_FILE.format(folder="/nowhere"))
    with pytest.raises(ServiceError, match=r"(?s)did not accept the deployments of .*greeting\.py"):
        up(machine, prefect_file=tmp_path / "prefect.yaml")
    states_now = {name: info["statename"] for name, info in supervisor.states().items()}
    assert states_now.pop("worker") == "STOPPED"
    assert set(states_now) == {"prefect", "label-studio", "llm", "watcher"}
    assert set(states_now.values()) == {"RUNNING"}


def deployed(settings: Settings, name: str) -> str:
    """Ask for a run of a deployment and return its id."""
    api = prefect_api(with_secrets(settings))
    found = api.read("GET", f"/deployments/name/{name}")
    return str(api.read("POST", f"/deployments/{found['id']}/create_flow_run", {"state": {"type": "SCHEDULED"}})["id"])


def state_of(settings: Settings, run: str) -> str:
    return str(prefect_api(with_secrets(settings)).read("GET", f"/flow_runs/{run}")["state"]["type"])
