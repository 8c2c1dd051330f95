"""Locks between the processes of this machine; the kernel frees one when its process dies, however it dies."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from filelock import FileLock, Timeout

from abcdlink.folders import write_atomically
from abcdlink.progress import Progress
from abcdlink.settings import get_settings


def lock_of(name: str) -> FileLock:
    """Return the lock of a name, in the home folder; it is waited for unless ``timeout=0`` is given at entry."""
    path = _folder() / f"{name}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    return FileLock(path)


@contextmanager
def one_at_a_time(name: str, work: str, progress: Progress) -> Iterator[None]:
    """Do some work in one process of this machine at a time.

    Args:
        name: of the lock.
        work: what is done, for whoever has to wait.
        progress: shows that another process is waited for, and which.
    """
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


def _holder(name: str) -> str:
    """Say who has a lock, as far as it says so itself."""
    try:
        told = json.loads(_holder_file(name).read_bytes())
        return f"process {told['pid']}, busy since {told['since']}: {told['work']}"
    except (FileNotFoundError, ValueError):  # it has just begun, or just ended
        return "another process"


def _holder_file(name: str) -> Path:
    return _folder() / f"{name}.holder"


def _folder() -> Path:
    return get_settings().home.resolve() / "locks"
