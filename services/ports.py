"""Ports of this machine: who uses one, and which is free."""

from __future__ import annotations

import socket
from collections.abc import Collection
from urllib.parse import urlsplit

import psutil

LOOPBACK = "127.0.0.1"
ANY_ADDRESS = ("0.0.0.0", "::", LOOPBACK, "::ffff:127.0.0.1")  # noqa: S104 - read, never bound


def is_local(url: str) -> bool:
    """Tell whether an address is on this machine's loopback interface."""
    return urlsplit(url).hostname in {LOOPBACK, "localhost", "::1"}


def is_free(port: int) -> bool:
    """Tell whether a server could listen on the port of the loopback address now."""
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
    """Return the first free port above ``port`` (below it for the last ports) that is not spoken for."""
    candidates: list[int] = [*range(port + 1, min(port + 200, 65536)), *range(port - 1, max(port - 200, 1024), -1)]
    return next(candidate for candidate in candidates if candidate not in spoken_for and is_free(candidate))


def holder(port: int) -> str:
    """Say which program listens on the port, for example ``"nginx (process 4711)"``."""
    try:
        connections = psutil.net_connections(kind="tcp")
    except psutil.AccessDenied:
        return "a program of another user"
    for connection in connections:
        if connection.status != psutil.CONN_LISTEN or connection.laddr.port != port:
            continue
        if connection.laddr.ip in ANY_ADDRESS and connection.pid is not None:
            return f"{program_of(connection.pid)} (process {connection.pid})"
    return "a program of another user"


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
