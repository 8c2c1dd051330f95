"""The process manager: one supervisord per home, controlled over a socket that only its owner can open."""

from __future__ import annotations

import hashlib
import http.client
import os
import shlex
import shutil
import subprocess
import sys
import time
import xmlrpc.client
from contextlib import suppress
from pathlib import Path
from typing import Any

import jinja2
import psutil

from abcdlink.errors import InputError, ServiceError
from abcdlink.folders import write_atomically
from abcdlink.settings import PROJECT_ROOT
from services import MARK
from services.health import program_of
from services.programs import Program, process_environment

TEMPLATE = PROJECT_ROOT / "deployments" / "supervisord.conf.j2"
SOCKET_LIMIT = 90
"""Most characters in a socket's path: the kernel allows 107, and supervisor briefly adds its process id."""

LONGEST_SCRATCH = 40
"""Characters of the longest socket that a program makes among its temporary files, vLLM's."""

UNWRITABLE = ("%", " #", " ;", "\n")
"""Characters with a meaning in supervisor's configuration; `%` is expanded twice in some values, once in others."""

LAUNCH_SECONDS = 30.0
STOP_SECONDS = 60.0
"""Longest wait for all programs to stop: each has 20 s before it is killed."""

ACTIVE = {"STARTING", "RUNNING"}
"""Supervisor's names for the states in which a program is running or about to run."""

UNREACHABLE = (OSError, xmlrpc.client.ProtocolError, http.client.HTTPException)


class Supervisor:
    """Starts, watches and stops the programs of one home, an absolute path."""

    def __init__(self, home: Path) -> None:
        # Imported here: it takes 0.1 s, which only commands on services should pay.
        from supervisor.xmlrpc import SupervisorTransport

        self.home = home
        self.config = home / "supervisord.conf"
        self.logs = home / "logs"
        self.socket = _reachable(home, "supervisor.sock")
        self.scratch = _reachable(home, "tmp", below=LONGEST_SCRATCH)
        self._transport = SupervisorTransport(None, None, serverurl=f"unix://{self.socket}")
        self._rpc: Any = xmlrpc.client.ServerProxy("http://127.0.0.1", transport=self._transport).supervisor

    def log(self, name: str) -> Path:
        """Return the path of a program's log."""
        return self.logs / f"{name}.log"

    def is_running(self) -> bool:
        """Tell whether the process manager answers; leftover files of a killed one do not count."""
        try:
            return bool(self._rpc.getState()["statename"] == "RUNNING")
        except UNREACHABLE:
            self._transport.close()  # or the broken connection is used again
            return False

    def launch(self, programs: list[Program], environment: dict[str, str]) -> None:
        """Start supervisord in the background with the programs' environment, but none of the programs.

        Raises:
            ServiceError: when it does not start.
        """
        self.logs.mkdir(parents=True, exist_ok=True)
        for folder in (self.socket.parent, self.scratch):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(self.config, self.render(programs, environment).encode(), mode=0o600)
        command = [sys.executable, "-m", "supervisor.supervisord", "--configuration", str(self.config)]
        # Prefect's worker writes the secrets of its environment to a temporary file for each flow run.
        variables = process_environment(environment) | {"TMPDIR": str(self.scratch)}
        started = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
        deadline = time.monotonic() + LAUNCH_SECONDS
        while not self.is_running():
            if started.returncode or time.monotonic() > deadline:
                # Supervisor may print the environment, with its secrets, as a Python dictionary.
                said = (started.stdout + started.stderr).partition("{")[0].strip()
                msg = f"the process manager did not start ({said or 'no output'})"
                raise ServiceError(msg, f"see {self.logs / 'supervisord.log'}")
            time.sleep(0.05)

    def render(self, programs: list[Program], environment: dict[str, str]) -> str:
        """Return the configuration file for these programs."""
        values = {
            "variables": {name: hashlib.sha256(value.encode()).hexdigest()[:12] for name, value in environment.items()},
            "home": _written(self.home),
            "logs": _written(self.logs),
            "socket": _written(self.socket),
            "programs": [
                {
                    "name": program.name,
                    "command": _written(shlex.join(program.command)),
                    "directory": _written(PROJECT_ROOT),
                    "log": _written(self.log(program.name)),
                    "own": ",".join(f'{name}="{_written(value)}"' for name, value in program.own.items()),
                    "umask": "" if program.keeps_secrets else f"{_umask():03o}",
                }
                for program in programs
            ],
        }
        text = TEMPLATE.read_text(encoding="utf-8")
        template = jinja2.Environment(trim_blocks=True, undefined=jinja2.StrictUndefined)  # noqa: S701 - not HTML
        return template.from_string(text).render(values) + "\n"

    def differences(self, programs: list[Program], environment: dict[str, str]) -> list[str]:
        """Name the variables in which these settings differ from those of the running programs."""
        then, now = self.config.read_text(encoding="utf-8"), self.render(programs, environment)
        changed = {line.split()[1] for line in set(then.splitlines()) ^ set(now.splitlines()) if line[:2] == ";="}
        named = {name for name in changed if name.startswith("ABCDLINK_")} or changed  # the others follow from these
        return sorted(named) or (["the programs"] if then != now else [])

    def states(self) -> dict[str, dict[str, Any]]:
        """Return what supervisor says about each program: ``statename``, ``pid``, ``start`` and so on.

        Raises:
            ServiceError: when the process manager has ended.
        """
        try:
            return {info["name"]: info for info in self._rpc.getAllProcessInfo()}
        except UNREACHABLE as error:
            msg = f"the process manager has ended ({error})"
            raise ServiceError(msg, f"see {self.logs / 'supervisord.log'}, then run `abcdlink up` again") from None

    def start(self, name: str) -> int:
        """Start a program without waiting for it; returns its process id."""
        self._rpc.startProcess(name, False)  # noqa: FBT003 - XML-RPC has no keywords
        return int(self._rpc.getProcessInfo(name)["pid"])

    def stop(self, name: str) -> None:
        """Stop one program and wait until it has ended."""
        if self.states()[name]["statename"] in {*ACTIVE, "BACKOFF"}:
            self._rpc.stopProcess(name)

    def shut_down(self) -> None:
        """Stop all programs, the process manager, and any processes left over.

        Raises:
            ServiceError: when it does not end.
        """
        if self.is_running():
            pid = self._rpc.getPID()
            self._rpc.shutdown()
            try:
                psutil.Process(pid).wait(timeout=STOP_SECONDS)
            except psutil.NoSuchProcess:
                pass
            except psutil.TimeoutExpired:
                msg = f"the process manager (process {pid}) does not stop"
                raise ServiceError(msg, f"see {self.logs / 'supervisord.log'}, or stop it with `kill {pid}`") from None
        self.end_leftovers()

    def end_leftovers(self) -> list[str]:
        """Stop programs of this home that have lost their process manager; returns their names."""
        mine = []
        for process in psutil.process_iter():
            try:
                if process.environ().get(MARK) == str(self.home) and process.pid != os.getpid():
                    mine.append(process)
            except psutil.Error:
                continue
        names = [f"{program_of(process.pid)} (process {process.pid})" for process in mine]
        for process in mine:
            with suppress(psutil.NoSuchProcess):
                process.terminate()
        _, alive = psutil.wait_procs(mine, timeout=10)
        for process in alive:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(alive, timeout=5)
        self._remove_temporary_files()
        return names

    def _remove_temporary_files(self) -> None:
        """Remove what programs that were killed have left."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        for folder in {self.socket.parent, self.scratch.parent} - {self.home}:
            with suppress(OSError):
                folder.rmdir()


def _umask() -> int:
    """Return the umask of this process, which can only be read by setting it."""
    now = os.umask(0o077)
    os.umask(now)
    return now


def _reachable(home: Path, name: str, below: int = 0) -> Path:
    """Return a path in the home; in a folder of the system's where sockets ``below`` it would have too long a name."""
    path = home / name
    if len(str(path)) + below <= SOCKET_LIMIT:
        return path
    digest = hashlib.sha256(str(home).encode()).hexdigest()[:16]
    # Not tempfile's folder, which differs between processes with other variables.
    return Path("/tmp") / f"abcdlink-{os.getuid()}-{digest}" / name  # noqa: S108 - only its owner can open the folder


def _written(value: object) -> str:
    """Return a value for the configuration, in which some characters are not allowed."""
    text = str(value)
    found = [sign for sign in UNWRITABLE if sign in text]
    if found:
        msg = (
            f"{text!r} cannot be used in the process manager's configuration, where {found[0]!r} has a special meaning"
        )
        raise InputError(msg, "give the folder another name")
    return text
