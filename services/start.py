"""``up`` and ``down``: start every program that this machine needs, in parallel, and stop them."""

from __future__ import annotations

import shutil
import time
import xmlrpc.client
from collections.abc import Callable, Iterator
from pathlib import Path

from abcdlink.errors import ServiceError
from abcdlink.locks import SERVICES, lock_of
from abcdlink.progress import Progress, silent
from abcdlink.settings import Settings, get_settings
from services import Stack
from services.credentials import (
    DATABASE,
    LABEL_STUDIO_FOLDER,
    ensure_credentials,
    ensure_prefect_auth,
    make_home,
    with_secrets,
)
from services.deployments import PREFECT_FILE, Deployment, end_of, settle_dead_runs, skip_missed_runs
from services.health import holder, is_free, is_local, next_free
from services.programs import (
    LABEL_STUDIO_TEMPLATE,
    PREFECT,
    WORKER,
    Program,
    full_environment,
    local_programs,
    require_installed,
)
from services.state import require_same_settings, status
from services.supervision import ACTIVE, Supervisor

START_SECONDS = 300.0
"""Longest wait for everything to be ready."""

POLL_SECONDS = 0.3
FLOWS = "flows"
"""The name of the deployment in the list of programs."""


def up(settings: Settings, progress: Progress = silent, prefect_file: Path = PREFECT_FILE) -> Stack:
    """Start what these settings require and is not running yet; return when all of it is ready.

    Prefect's server, worker and deployments are always started; Label Studio unless ``label_studio_url`` is another
    machine's; the embedded LLM unless ``llm_base_url`` is set. Everything listens on 127.0.0.1 only. The first
    call generates passwords and tokens: read the settings again afterwards.

    Args:
        settings: what to start, and where.
        progress: shows each program until it is ready.
        prefect_file: the flows to deploy.

    Raises:
        InputError: when a setting, the secrets file or the deployments file cannot be used, or when
            the services are running with other settings.
        ServiceError: when a port is taken, a program is not installed or does not become ready; what this
            call started is stopped again.
    """
    require_installed(local_programs(settings))
    home = make_home(settings)
    with lock_of(SERVICES, home):
        settings, variables = _prepare(settings)
        programs = local_programs(settings)
        supervisor = Supervisor(home)
        wanted, notes = _wanted(supervisor, programs, variables)
        require_free_ports(wanted)
        if fresh := not supervisor.is_running():
            supervisor.launch(programs, variables)

        def deploy() -> Deployment:
            if fresh:
                settle_dead_runs(settings)
                skip_missed_runs(settings)
            return Deployment(settings, prefect_file)

        start = _Start(supervisor, wanted, deploy, progress)
        try:
            start.run()
        except BaseException:
            start.undo()
            raise
    now = status(settings)
    return now.model_copy(update={"started": [program.name for program in wanted], "notes": [*now.notes, *notes]})


def down(settings: Settings) -> Stack:
    """Stop everything that ``up`` started for this home; runs, annotations and secrets are kept.

    Raises:
        ServiceError: when the process manager does not stop.
    """
    supervisor = Supervisor(settings.home.resolve())
    if supervisor.is_running():
        ran = [name for name, info in supervisor.states().items() if info["statename"] in ACTIVE]
        supervisor.shut_down()
    else:
        ran = supervisor.end_leftovers()
    notes = [f"stopped {', '.join(ran)}" if ran else "nothing was running"]
    return status(settings).model_copy(update={"notes": notes})


def _prepare(settings: Settings) -> tuple[Settings, dict[str, str]]:
    """Generate secrets and Label Studio's tables; return the settings with the secrets, and the environment."""
    if not settings.prefect_auth.get_secret_value():
        ensure_prefect_auth(settings)
    if is_local(settings.label_studio_url):
        ensure_credentials(settings)
        _copy_tables(settings.home.resolve() / LABEL_STUDIO_FOLDER / DATABASE)
    get_settings.cache_clear()
    settings = with_secrets(settings)
    return settings, full_environment(settings)


def _copy_tables(database: Path) -> None:
    """Give a new Label Studio the tables that ``make setup`` prepared; without them, it creates its own."""
    if database.exists() or not LABEL_STUDIO_TEMPLATE.exists():
        return
    database.parent.mkdir(parents=True, exist_ok=True)
    half = database.with_suffix(".new")
    shutil.copyfile(LABEL_STUDIO_TEMPLATE, half)
    half.chmod(0o600)
    half.replace(database)


def _wanted(
    supervisor: Supervisor, programs: list[Program], variables: dict[str, str]
) -> tuple[list[Program], list[str]]:
    """Return the programs that are not running yet, and notes for the reader.

    Raises:
        InputError: when the running ones were started with other settings.
    """
    if not supervisor.is_running():
        ended = supervisor.end_leftovers()
        return programs, [f"stopped programs left over from an earlier start: {', '.join(ended)}"] if ended else []
    require_same_settings(supervisor, programs, variables)
    states = supervisor.states()
    wanted = [program for program in programs if states[program.name]["statename"] not in ACTIVE]
    return wanted, [] if wanted else ["everything was already running"]


def require_free_ports(programs: list[Program]) -> None:
    """Raise one ``ServiceError`` that names each port in use, who uses it, and the setting for another port."""
    problems, hints = [], []
    spoken_for = {program.port for program in programs if program.port is not None}
    for program in programs:
        if program.port is not None and not is_free(program.port):
            problems.append(f"port {program.port}, which {program.name} needs, is used by {holder(program.port)}")
            other = next_free(program.port, spoken_for)
            spoken_for.add(other)
            hints.append(program.port_setting.format(port=other))
    if problems:
        raise ServiceError("; ".join(problems), f"stop that program, or set {' and '.join(hints)}")


class _Start:
    """Starts the wanted programs in parallel, each as soon as the one it needs is ready.

    All others of the home are running. ``deploy`` is called when Prefect is ready and its worker is wanted.
    """

    def __init__(
        self, supervisor: Supervisor, wanted: list[Program], deploy: Callable[[], Deployment], progress: Progress
    ) -> None:
        self.supervisor, self.wanted, self.deploy, self.progress = supervisor, wanted, deploy, progress
        self.to_start = list(wanted)
        self.waiting: dict[str, tuple[Program, int]] = {}
        self.deployment: Deployment | None = None
        self.deployed = all(program.name != WORKER for program in wanted)
        self.shown: dict[str, Iterator[str]] = {}

    def run(self) -> None:
        """Return when everything is ready; raises ``ServiceError`` at the first failure."""
        deadline = time.monotonic() + START_SECONDS
        while self.to_start or self.waiting or not self.deployed:
            self._begin()
            self._look()
            if time.monotonic() > deadline:
                late = next(iter(self.waiting), PREFECT)
                raise self._failure(late, f"is not ready after {START_SECONDS:.0f} s")
            time.sleep(POLL_SECONDS)

    def undo(self) -> None:
        """Stop what this start has started, the last first."""
        if self.deployment:
            self.deployment.stop()
        if not self.supervisor.is_running():
            return
        for program in reversed(self.wanted):
            self.supervisor.stop(program.name)
        if all(info["statename"] not in ACTIVE for info in self.supervisor.states().values()):
            self.supervisor.shut_down()

    def _begin(self) -> None:
        pending = {program.name for program in self.to_start} | set(self.waiting)
        # The deployment first: it creates the work pool that the worker needs.
        if not self.deployed and not self.deployment and PREFECT not in pending:
            self.deployment = self.deploy()
            self._show(FLOWS)
        for program in [one for one in self.to_start if one.after not in pending]:
            try:
                pid = self.supervisor.start(program.name)
            except xmlrpc.client.Fault as fault:
                raise self._failure(program.name, f"cannot be started ({fault.faultString})") from None
            self.to_start.remove(program)
            self.waiting[program.name] = (program, pid)
            self._show(program.name)

    def _look(self) -> None:
        states = self.supervisor.states()
        for program, pid in list(self.waiting.values()):
            info = states[program.name]
            if info["statename"] not in ACTIVE or info["pid"] != pid:
                raise self._failure(program.name, "ended while it was starting")
            if program.is_ready(float(info["start"])):
                del self.waiting[program.name]
                self._show_done(program.name)
        if self.deployment and not self.deployed and self.deployment.is_done():
            self.deployed = True
            self._show_done(FLOWS)

    def _show(self, name: str) -> None:
        self.shown[name] = self.progress([name], name, 1)
        next(self.shown[name])

    def _show_done(self, name: str) -> None:
        next(self.shown[name], None)

    def _failure(self, name: str, problem: str) -> ServiceError:
        log = self.supervisor.log(name)
        said = f"; the end of {log}:\n{end_of(log)}" if log.exists() and log.stat().st_size else ""
        return ServiceError(f"{name} {problem}{said}", "fix what it reports, then run `abcdlink up` again")
