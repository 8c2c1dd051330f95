"""Work for one process at a time: the second waits, says for whom, and continues when the first ends or dies."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeVar

import pytest

from abcdlink.locks import DROPS, ENGINE, SERVICES, lock_of, one_at_a_time, remove_locks
from abcdlink.progress import silent
from abcdlink.settings import get_settings
from abcdlink.store import open_run
from tests.helpers.forked import FORK, forked
from tests.helpers.waiting import until

T = TypeVar("T")


class Other:
    """A process that holds the lock of this name until it is killed or told to end."""

    def __init__(self) -> None:
        self._told, its = FORK.Pipe()
        self.process = forked(self._hold, its)
        self._told.recv()

    @staticmethod
    def _hold(told: Connection) -> None:
        with one_at_a_time("spring+generate", "generate of run 'spring'", silent):
            told.send("held")
            told.recv()

    def end(self) -> None:
        self._told.send("end")


@pytest.fixture
def other(isolated_home: Path) -> Iterator[Other]:
    other = Other()
    yield other
    other.process.kill()
    other.process.join()


@pytest.mark.parametrize("death", ["killed", "ended"])
def test_a_second_process_names_the_one_it_waits_for_and_continues_after_it(other: Other, death: str) -> None:
    told = []

    def end_it_when_told(items: Iterable[T], label: str, total: int | None = None) -> Iterator[T]:
        told.append(label)
        if death == "killed":
            other.process.kill()
        else:
            other.end()
        yield from items

    with one_at_a_time("spring+generate", "mine", end_it_when_told):
        assert f"process {other.process.pid}" in told[0]
        assert "generate of run 'spring'" in told[0]
    with one_at_a_time("spring+generate", "mine", end_it_when_told):
        assert len(told) == 1


def test_other_work_is_not_held_up(other: Other) -> None:
    with one_at_a_time("spring+benchmark", "mine", silent):
        assert other.process.is_alive()
    assert not (get_settings().home / "locks" / "spring+benchmark.holder").exists()


@pytest.mark.parametrize("name", ["spring.generate", "drops", "services", "vllm"])
def test_a_run_named_like_other_work_is_not_held_up(other: Other, name: str) -> None:
    with lock_of(DROPS), lock_of(SERVICES), lock_of(ENGINE):
        threading.Thread(target=open_run(name).note, args=("counts", {"pairs": 1}), daemon=True).start()
        until(lambda: open_run(name).manifest.get("counts"), "a note in the manifest", poll=0.01)
    assert other.process.is_alive()


def test_the_locks_of_a_deleted_run_are_removed() -> None:
    for name in ("spring", "spring+generate", "springtime"):
        with lock_of(name):
            pass
    remove_locks("spring")
    assert {path.name for path in (get_settings().home / "locks").iterdir()} == {"springtime.lock"}
