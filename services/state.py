"""``status``: the current state of each service of a home."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from abcdlink.errors import InputError, as_sentences, counted
from abcdlink.settings import PROJECT_ROOT, SECRETS_FILE, Settings
from services import SILENT_SECONDS, Service, ServiceState, Stack, read_heartbeat
from services.credentials import COORDINATOR, PREFECT_AUTH, with_secrets
from services.health import answers, holder, is_free, is_local, llm_models
from services.programs import LABEL_STUDIO, LLM, PREFECT, WATCHER, Program, full_environment, local_programs
from services.supervision import ACTIVE, Supervisor

PACKAGES = ("abcdlink", "tasks", "flows", "labelstudio_config", "services")
MEGABYTE = 1024 * 1024
MINUTE, HOUR = 60, 3600


def status(settings: Settings) -> Stack:
    """Return the state of every service that these settings name, in this home and elsewhere."""
    settings = with_secrets(settings)
    supervisor = Supervisor(settings.home.resolve())
    infos = supervisor.states() if supervisor.is_running() else {}
    looks: list[Callable[[], Service]] = [
        partial(_local, program, infos.get(program.name), str(supervisor.log(program.name)))
        if program.name != WATCHER
        else partial(_watcher, program, infos.get(program.name), supervisor)
        for program in local_programs(settings)
    ]
    if not is_local(settings.label_studio_url):
        url = settings.label_studio_url
        looks.append(
            lambda: _remote(LABEL_STUDIO, url, "" if answers(f"{url.rstrip('/')}/health") else "does not answer")
        )
    if settings.llm_base_url:
        looks.append(lambda: _remote(LLM, settings.llm_base_url, llm_models(settings)[1]))
    with ThreadPoolExecutor(len(looks)) as threads:
        services = list(threads.map(lambda look: look(), looks))
    notes = [*(as_sentences(str(one)) for one in out_of_date(settings, supervisor)), *_other_home(supervisor.home)]
    return Stack(services=services, login=_login(settings, services), notes=notes)


def out_of_date(settings: Settings, supervisor: Supervisor) -> list[InputError]:
    """Return why the running programs fit neither these settings, completed with the secrets, nor the code of now."""
    if not supervisor.is_running():
        return []
    found = []
    try:
        require_same_settings(supervisor, local_programs(settings), full_environment(settings))
    except InputError as error:
        found.append(error)
    newest = max(file.stat().st_mtime for package in PACKAGES for file in (PROJECT_ROOT / package).rglob("*.py"))
    infos = supervisor.states()
    if old := [name for name, info in infos.items() if info["statename"] in ACTIVE and int(newest) > info["start"]]:
        msg = f"{', '.join(old)} still run{'s' if len(old) == 1 else ''} the code from before it was changed"
        found.append(InputError(msg, "run `abcdlink down` and then `abcdlink up`; runs go on"))
    return found


def _other_home(home: Path) -> list[str]:
    """Say that there is a home in a folder above, where there is none in this one."""
    above = () if home.exists() else home.parent.parents
    other = next((folder for folder in above if (folder / home.name / SECRETS_FILE).exists()), None)
    return [f"{home} does not exist, but {other / home.name} does: run abcdlink in {other}"] if other else []


def require_same_settings(supervisor: Supervisor, programs: list[Program], variables: dict[str, str]) -> None:
    """Raise ``InputError`` when the running programs were started with other settings."""
    if changed := supervisor.differences(programs, variables):
        msg = f"the services are running with different settings ({', '.join(changed)})"
        raise InputError(msg, "undo the change, or run `abcdlink down` and then `abcdlink up`")


def _login(settings: Settings, services: list[Service]) -> str:
    """Say how to log in to the local servers, when they are there."""
    ready = {service.name for service in services if service.managed and service.state is ServiceState.READY}
    secrets = settings.home.resolve() / SECRETS_FILE
    lines = []
    if LABEL_STUDIO in ready:
        lines.append(f"log in at {settings.label_studio_url} as {COORDINATOR}; the password is in {secrets}")
    if PREFECT in ready and settings.prefect_auth.get_secret_value():
        lines.append(f"Prefect's UI asks once for a password: the value of {PREFECT_AUTH} in {secrets}")
    return "\n".join(lines)


def _local(program: Program, info: dict[str, Any] | None, log: str) -> Service:
    state, detail = _judge(program, info)
    return Service(name=program.name, state=state, url=program.url, detail=detail, log=log)


def _watcher(program: Program, info: dict[str, Any] | None, supervisor: Supervisor) -> Service:
    """Return the watcher's state: it must not only run but also have checked the runs."""
    service = _local(program, info, str(supervisor.log(program.name)))
    heartbeat = read_heartbeat(supervisor.home)
    if info is None or heartbeat is None or service.state in {ServiceState.STOPPED, ServiceState.FAILED}:
        return service
    if service.state is ServiceState.STARTING and time.time() - info["start"] > SILENT_SECONDS:
        return service.model_copy(update={"state": ServiceState.FAILED, "detail": heartbeat.problem})
    if service.state is ServiceState.STARTING:
        return service
    detail = f"{service.detail}, last checked {heartbeat.age:.0f} s ago, {counted(heartbeat.waiting, 'waiting run')}"
    return service.model_copy(update={"detail": "; ".join(filter(None, (detail, heartbeat.problem)))})


def _judge(program: Program, info: dict[str, Any] | None) -> tuple[ServiceState, str]:
    statename = info["statename"] if info else "STOPPED"
    if info and statename in ACTIVE:
        ready = program.is_ready(float(info["start"]))
        return ServiceState.READY if ready else ServiceState.STARTING, _about(info)
    if statename in {"FATAL", "BACKOFF", "EXITED", "UNKNOWN"}:
        return ServiceState.FAILED, f"stopped by itself: {info['description'] if info else ''}"
    if program.port is not None and not is_free(program.port):
        return ServiceState.STOPPED, f"its port {program.port} is used by {holder(program.port)}"
    return ServiceState.STOPPED, ""


def _about(info: dict[str, Any]) -> str:
    """Return the process id, age and memory (children included) of a running program, in words."""
    age = time.time() - info["start"]
    text = f"{age / HOUR:.1f} h" if age >= HOUR else f"{age / MINUTE:.0f} min" if age >= MINUTE else f"{age:.0f} s"
    try:
        process = psutil.Process(info["pid"])
        size = sum(one.memory_info().rss for one in [process, *process.children(recursive=True)]) / MEGABYTE
    except psutil.Error:
        return f"process {info['pid']}, for {text}"
    return f"process {info['pid']}, for {text}, {size:.0f} MB"


def _remote(name: str, url: str, problem: str) -> Service:
    state = ServiceState.FAILED if problem else ServiceState.READY
    return Service(name=name, state=state, url=url, managed=False, detail=problem or "not started by abcdlink")
