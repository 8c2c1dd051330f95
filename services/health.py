"""Health checks of services, by small HTTP requests, and who uses a port.

Prefect's API is called without importing Prefect, which takes seconds.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Collection
from datetime import UTC, datetime
from functools import cache
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import psutil

from abcdlink.settings import Settings
from services import MARK

PREFECT_TIMEOUT = 10.0
BETWEEN_SECONDS = 0.5
CHANGES = {"POST", "PUT", "PATCH", "DELETE"}


class PrefectApi:
    """Calls the server as its owner: with the generated password, and a token against forged requests.

    ``auth``: ``user:password``, empty for a server without one; ``patience``: seconds for which a busy server is asked
    again.
    """

    def __init__(self, port: int, auth: str, patience: float = 60.0) -> None:
        self._patience = patience
        user, _, password = auth.partition(":")
        self._client = httpx.Client(
            base_url=f"http://{LOOPBACK}:{port}/api",
            auth=(user, password) if auth else None,
            timeout=PREFECT_TIMEOUT,
            trust_env=False,  # programs on the same machine need no proxy
            verify=_certificates(),
        )
        self._name = str(uuid4())
        self._token: dict[str, str] = {}

    def ask(self, method: str, path: str, body: object = None) -> httpx.Response:
        """Send a request and return the reply, whatever its status.

        Raises:
            httpx.HTTPError: when the server does not answer.
        """
        reply = self._send(method, path, body)
        if reply.status_code == httpx.codes.FORBIDDEN:  # the token is an hour old
            self._token = {}
            reply = self._send(method, path, body)
        return reply

    def read(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
        """Send a request and return the JSON of the reply.

        Raises:
            httpx.HTTPError: when the server does not answer, or refuses the request.
        """
        return self.ask(method, path, body).raise_for_status().json()

    def _send(self, method: str, path: str, body: object) -> httpx.Response:
        """Send a request; repeat it while the server answers that its database is locked."""
        deadline = time.monotonic() + self._patience
        while True:
            headers = self._csrf() if method in CHANGES else {}
            reply = self._client.request(method, path, json=body, headers=headers)
            if reply.status_code != httpx.codes.SERVICE_UNAVAILABLE or time.monotonic() > deadline:
                return reply
            time.sleep(BETWEEN_SECONDS)

    def _csrf(self) -> dict[str, str]:
        if not self._token:
            reply = self._client.get("/csrf-token", params={"client": self._name})
            if reply.is_success:
                self._token = {"Prefect-Csrf-Token": reply.json()["token"], "Prefect-Csrf-Client": self._name}
        return self._token


TIMEOUT = 3.0
"""Seconds in which a healthy service answers."""

# Reading the certificates takes 20 ms, several times what a request to this machine does.
_certificates = cache(httpx.create_ssl_context)


def answers(url: str, _started: float = 0.0) -> bool:
    """Tell whether a GET of the address succeeds."""
    try:
        return _ask("GET", url).is_success
    except (httpx.HTTPError, httpx.InvalidURL):
        return False


def _ask(method: str, url: str, **details: Any) -> httpx.Response:  # noqa: ANN401 - httpx's own keywords
    # Programs on the same machine need no proxy.
    trust_env = not is_local(url)
    return httpx.request(method, url, timeout=TIMEOUT, trust_env=trust_env, verify=_certificates(), **details)


def worker_is_online(api: PrefectApi, pool: str, name: str, started: float) -> bool:
    """Tell whether Prefect has heard from the worker since its process started.

    A worker that was stopped may still count as online for a minute, so the time of the heartbeat decides. ``started``:
    when the process started, seconds since 1970.
    """
    since = datetime.fromtimestamp(started, tz=UTC).isoformat()
    wanted = {"workers": {"last_heartbeat_time": {"after_": since}}}
    try:
        return any(worker["name"] == name for worker in api.read("POST", f"/work_pools/{pool}/workers/filter", wanted))
    except httpx.HTTPError:
        return False


def llm_models(settings: Settings) -> tuple[list[str], str]:
    """Ask the LLM's endpoint for its models; return their names and, if it does not answer, the problem."""
    base = settings.llm_base_url or f"http://{LOOPBACK}:{settings.llm_port}/v1"
    key = {"Authorization": f"Bearer {settings.llm_api_key.get_secret_value()}"}
    try:
        reply = _ask("GET", f"{base.rstrip('/')}/models", headers=key)
        reply.raise_for_status()
        return [model["id"] for model in reply.json()["data"]], ""
    except httpx.HTTPStatusError as error:
        return [], f"answers with status {error.response.status_code}"
    except (httpx.HTTPError, httpx.InvalidURL):
        return [], "does not answer"
    except (ValueError, KeyError, TypeError):
        return [], "answers with something other than a list of models"


def label_studio_user(settings: Settings) -> tuple[str, str]:
    """Ask Label Studio whose token this is; return the user's email address, or the problem.

    A legacy token is sent as is; a personal access token (a JWT, with two dots) is first
    exchanged for a short-lived one.
    """
    base, token = settings.label_studio_url.rstrip("/"), settings.label_studio_token.get_secret_value()
    try:
        header = f"Token {token}"
        if token.count(".") == 2:  # noqa: PLR2004 - the three parts of a JWT
            refreshed = _ask("POST", f"{base}/api/token/refresh", json={"refresh": token})
            header = f"Bearer {refreshed.json().get('access', '')}"
        reply = _ask("GET", f"{base}/api/current-user/whoami", headers={"Authorization": header})
        if reply.status_code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            return "", "the token is not valid"
        reply.raise_for_status()
        return str(reply.json()["email"]), ""
    except httpx.HTTPStatusError as error:
        return "", f"answers with status {error.response.status_code}"
    except (httpx.HTTPError, httpx.InvalidURL):
        return "", "does not answer"
    except (ValueError, KeyError, TypeError, AttributeError):
        return "", "is something other than Label Studio"


LOOPBACK = "127.0.0.1"
ANY_ADDRESS = ("0.0.0.0", "::", LOOPBACK, "::ffff:127.0.0.1")  # noqa: S104 - read, never bound


def is_local(url: str) -> bool:
    """Tell whether an address is on this machine's loopback interface."""
    return urlsplit(url).hostname in {LOOPBACK, "localhost", "::1"}


def is_free(port: int) -> bool:
    """Tell whether a server could now listen on this port of the loopback address."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def next_free(port: int, spoken_for: Collection[int] = ()) -> int:
    """Return the first free port above ``port`` (below it for the last ports) that is not taken."""
    candidates: list[int] = [*range(port + 1, min(port + 200, 65536)), *range(port - 1, max(port - 200, 1024), -1)]
    return next(candidate for candidate in candidates if candidate not in spoken_for and is_free(candidate))


def holder(port: int) -> str:
    """Say which program listens on the port, for example ``"nginx (process 4711)"``."""
    try:
        connections = psutil.net_connections(kind="tcp")
    except psutil.AccessDenied:
        return "a program of another user"
    for connection in connections:
        if _is_at(connection, port) and connection.pid is not None:
            pid = _first_of(connection.pid, port)
            return f"{program_of(pid)}{_home_of(pid)} (process {pid})"
    return "a program of another user"


def _home_of(pid: int) -> str:
    """Say which home folder's ``up`` started a process; empty if none did."""
    try:
        home = psutil.Process(pid).environ().get(MARK)
    except psutil.Error:
        return ""
    return f" of {home}" if home else ""


def _is_at(connection: Any, port: int) -> bool:  # noqa: ANN401 - psutil has a type for each platform
    return (
        connection.status == psutil.CONN_LISTEN and connection.laddr.port == port and connection.laddr.ip in ANY_ADDRESS
    )


def _first_of(pid: int, port: int) -> int:
    """Return the process that opened the socket: its children hold it too, at least until they run another program."""
    try:
        process = psutil.Process(pid)
        while (parent := process.parent()) and any(_is_at(each, port) for each in parent.net_connections("tcp")):
            process = parent
    except psutil.Error:
        return pid
    return int(process.pid)


def program_of(pid: int) -> str:
    """Return the name of a program as people know it; for a Python program, what Python runs."""
    try:
        process = psutil.Process(pid)
        name, command = process.name(), process.cmdline()
    except psutil.Error:
        return "a program"
    if not name.startswith("python") or len(command) < 2:  # noqa: PLR2004 - an interpreter and what it runs
        return str(name)
    return " ".join([name, *(part.rsplit("/", 1)[-1] for part in command[1:3])])
