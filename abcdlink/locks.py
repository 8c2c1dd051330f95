"""Locks between the processes of this machine; the kernel frees one when its process dies, however it dies."""

from __future__ import annotations

import atexit
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from filelock import FileLock, Timeout

from abcdlink.errors import InputError
from abcdlink.folders import write_atomically
from abcdlink.progress import Progress
from abcdlink.settings import get_settings

FLOW = "_flow-"
"""Begins the lock that the process of a flow run holds as long as it lives; the id of the run follows."""
DROPS, ENGINE, LLM_BATCH, SERVICES, SPENDING = "_drops", "_vllm", "_llm-batch", "_services", "_spending"
"""Locks that belong to no run: no run key begins with `_`. A run has a lock of its own name, and `RUN+STAGE`."""
SECONDS_TO_TRY = 5.0
"""Whoever asks whether a lock is abandoned holds it for a moment."""


def lock_of(name: str, home: Path | None = None) -> FileLock:
    """Return the lock of a name, in the home folder; entering it waits, unless it is acquired with ``timeout=0``."""
    path = _folder(home) / f"{name}.lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"cannot write to {path.parent}: {error.strerror}"
        raise InputError(msg, "set ABCDLINK_HOME to a folder that you may write to") from None
    return FileLock(path)


@contextmanager
def one_at_a_time(name: str, work: str, progress: Progress) -> Iterator[None]:
    """Do some work in one process of this machine at a time; ``progress`` shows which other one is waited for."""
    lock = lock_of(name)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        for _ in progress((None,), f"Waiting for {_holder(name)}"):
            lock.acquire()
    try:
        told = {"pid": os.getpid(), "work": work, "since": f"{datetime.now().astimezone():%Y-%m-%d %H:%M:%S}"}
        write_atomically(_holder_file(name), json.dumps(told).encode())
        yield
    finally:
        _holder_file(name).unlink(missing_ok=True)
        lock.release()


def hold_for_life(name: str) -> None:
    """Hold a lock until this process ends, so that others see when it is gone; a process that sleeps still holds it.

    Where another process holds it, nobody will be able to tell from the lock which of them is gone.
    """
    lock, holder = lock_of(name), _holder_file(name)
    try:
        lock.acquire(timeout=SECONDS_TO_TRY)
    except Timeout:
        holder.unlink(missing_ok=True)
        return
    write_atomically(holder, json.dumps({"host": socket.gethostname()}).encode())

    def end() -> None:
        for path in (holder, Path(lock.lock_file)):
            path.unlink(missing_ok=True)
        lock.release()

    atexit.register(end)


def is_abandoned(name: str) -> bool:
    """Tell whether a process of this machine that held a lock for life ended in the middle of its work.

    ``False`` where that cannot be told: the process was on another machine, say.
    """
    try:
        if json.loads(_holder_file(name).read_bytes()) != {"host": socket.gethostname()}:
            return False
        with lock_of(name).acquire(timeout=0):
            return True
    except (FileNotFoundError, ValueError, Timeout):
        return False


def _holder(name: str) -> str:
    """Say who has a lock, as far as it says so itself."""
    try:
        told = json.loads(_holder_file(name).read_bytes())
        return f"process {told['pid']}, busy since {told['since']}: {told['work']}"
    except (FileNotFoundError, ValueError):  # it has just begun, or just ended
        return "another process"


def _holder_file(name: str) -> Path:
    return _folder() / f"{name}.holder"


def remove_locks(run: str) -> None:
    """Remove the lock files of a run that is gone."""
    for path in (*_folder().glob(f"{run}.lock"), *_folder().glob(f"{run}+*.lock")):
        path.unlink(missing_ok=True)


def _folder(home: Path | None = None) -> Path:
    return (home or get_settings().home).resolve() / "locks"
