"""The watcher: which runs it looks at, what it does about them, and that one broken run holds up no other."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from logging import getLogger
from multiprocessing.context import ForkProcess
from types import SimpleNamespace
from uuid import UUID, uuid4

import pytest
from prefect.client.schemas import FlowRun
from prefect.client.schemas.objects import Flow
from prefect.exceptions import Abort
from prefect.states import AwaitingRetry, Cancelled, Completed, Crashed, Failed, Pending, Running, State, Suspended

import flows.reconcile
import flows.watcher
from abcdlink.errors import ServiceError
from abcdlink.locks import FLOW as FLOW_LOCK
from abcdlink.locks import is_abandoned
from abcdlink.store import open_run
from abcdlink.waiting import WaitsFor, wait_for, waiting_of
from flows.reconcile import awake_since, look_at_all
from flows.watcher import STALE, Watcher, WorthALook
from services import Heartbeat, read_heartbeat
from tasks.runs import GONE, suspend
from tests.helpers.forked import FORK, forked
from tests.helpers.homes import configure

FLOW = Flow(id=uuid4(), name="annotate")


class Prefect:
    """The few calls of Prefect's client that a look makes."""

    def __init__(self, *runs: FlowRun) -> None:
        self.runs = list(runs)

    def read_flow_runs(self, **_: object) -> list[FlowRun]:
        return self.runs

    def read_flow(self, _: object) -> Flow:
        return FLOW

    def read_flow_run_states(self, run: UUID) -> list[State]:
        name = next(one.name for one in self.runs if one.id == run)
        when = datetime.now(UTC) - timedelta(minutes=5, days=name.endswith("every evening"))
        return [AwaitingRetry(message=GONE, timestamp=when) for _ in range(5)]


def run_of(key: str, state: State, **more: object) -> FlowRun:
    return FlowRun(
        name=f"annotate {key}",
        flow_id=FLOW.id,
        deployment_id=uuid4(),
        parameters={"run": key},
        state=state,
        state_name=state.name,
        **more,
    )


@pytest.fixture
def restarted(monkeypatch, tmp_path) -> list[str]:
    """Names of the restarted runs; nothing is sent to Prefect."""
    configure(monkeypatch, home=tmp_path)
    names: list[str] = []
    monkeypatch.setattr(flows.reconcile, "flow_run_logger", lambda run: getLogger(run.name))
    monkeypatch.setattr(flows.reconcile, "reschedule", lambda run: names.append(run.name))
    monkeypatch.setattr(flows.reconcile, "is_dead", lambda run, *_: run.name.endswith("dead"))
    return names


def test_dead_runs_are_restarted_and_a_broken_one_holds_up_no_other(restarted, monkeypatch):
    broken, lost = run_of("broken", Suspended()), run_of("lost", Suspended())
    wait_for(open_run("broken"), str(broken.id), "annotate", WaitsFor.ANNOTATORS, "batch-1")
    (open_run("lost").folder.root / "waiting").mkdir(parents=True)
    (open_run("lost").folder.root / "waiting" / "annotate.json").write_text("{")
    server = Prefect(
        broken,
        lost,
        run_of("crashed", Crashed()),
        run_of("dead", Running()),
        run_of("submitted and dead", Pending()),
        run_of("alive", Running()),
        run_of("often today", Crashed(), run_count=6),
        run_of("every evening", Crashed(), run_count=6),
    )
    monkeypatch.setattr("tasks.runs.get_client", lambda **_: nullcontext(server))

    found = look_at_all(server, STALE)

    assert restarted == [f"annotate {name}" for name in ("crashed", "dead", "submitted and dead", "every evening")]
    assert set(found.faults) == {"annotate broken", "annotate lost"}
    assert found.waiting == 2
    assert found.done == [f"Run {name} was restarted." for name in restarted]


def test_a_run_that_was_cancelled_while_it_waited_is_noted_once_and_a_newer_one_is_left_alone(restarted, monkeypatch):
    shown: list[str] = []
    monkeypatch.setattr(flows.reconcile, "show_what_now", lambda _, flow_run: shown.append(flow_run))
    gone, replaced = run_of("gone", Cancelled()), run_of("replaced", Cancelled())
    wait_for(open_run("gone"), str(gone.id), "annotate", WaitsFor.COORDINATOR, "batch-1")
    wait_for(open_run("replaced"), str(uuid4()), "annotate", WaitsFor.ANNOTATORS, "batch-1")
    done = [look_at_all(Prefect(gone, replaced, run_of("removed", Cancelled())), STALE).done for _ in range(2)]
    assert done == [["Run annotate gone ended: It was cancelled in Prefect."], []]
    noted = [waiting_of(open_run(key), "annotate") for key in ("gone", "replaced", "removed")]
    assert [one and (one.kind, one.slug) for one in noted] == [
        *((WaitsFor.FIX, "batch-1"), (WaitsFor.ANNOTATORS, "batch-1"), None),
    ]
    assert (shown, restarted) == ([str(gone.id)], [])


def test_a_run_that_could_not_note_its_failure_is_noted_by_the_watcher(restarted, monkeypatch):
    monkeypatch.setattr(flows.reconcile, "show_what_now", lambda *_: None)
    long_ago, now = datetime.now(UTC) - timedelta(hours=1), datetime.now(UTC)
    gone = "Flow run encountered an exception: ServiceError: S3 cannot be used for s3://b/r"
    at_work = run_of("at-work", Failed(message=gone), start_time=long_ago)
    lost = "Flow run encountered an exception: FileNotFoundError: s3://b/r/x"
    unknown = run_of("unknown", Failed(message=lost), start_time=now + timedelta(seconds=1))
    older = run_of("older", Failed(message=gone), start_time=long_ago)
    part = run_of("part", Failed(message=gone), start_time=now, parent_task_run_id=uuid4())
    often = run_of("often today", Crashed(), run_count=6).model_copy(update={"parameters": {"run": "often"}})
    wait_for(open_run("at-work"), str(at_work.id), "annotate", WaitsFor.NOBODY, "batch-1")
    wait_for(open_run("older"), str(uuid4()), "rate", WaitsFor.NOTHING)
    wait_for(open_run("unknown"), str(uuid4()), "start", WaitsFor.NOTHING)
    wait_for(open_run("often"), str(often.id), "annotate", WaitsFor.NOBODY)
    for key in ("older", "unknown", "part"):
        open_run(key).note("counts", {})

    server, shown = Prefect(at_work, unknown, older, part, often), {}
    monkeypatch.setattr("tasks.runs.get_client", lambda **_: nullcontext(server))
    assert len(look_at_all(server, STALE, shown=shown).done) == 3
    assert look_at_all(server, STALE, shown=shown).done == []
    noted = [waiting_of(open_run(key), "annotate") for key in ("at-work", "unknown", "often", "older", "part")]
    assert [one and (one.kind, one.told) for one in noted] == [
        (WaitsFor.FIX, "S3 cannot be used for s3://b/r"),
        (WaitsFor.FIX, "this file is missing: s3://b/r/x"),
        (WaitsFor.FIX, flows.reconcile.TOO_OFTEN),
        *(None, None),
    ]


def test_the_heartbeat_names_the_broken_run_and_its_fault_is_reported_once(restarted, tmp_path, caplog):
    broken = run_of("broken", Suspended())
    wait_for(open_run("broken"), str(broken.id), "annotate", WaitsFor.ANNOTATORS, "batch-1")
    watcher = Watcher(tmp_path)
    for _ in range(3):
        watcher.look(Prefect(broken))
    heartbeat = read_heartbeat(tmp_path)
    assert heartbeat is not None
    assert "run annotate broken" in heartbeat.problem
    assert len([line for line in caplog.messages if line.startswith("This run could not be checked")]) == 1


def test_an_unreachable_server_is_noted_with_the_last_look(tmp_path):
    long_ago = datetime.now(UTC) - timedelta(minutes=5)
    Heartbeat(looked=long_ago).write(tmp_path)
    Watcher(tmp_path).note("ConnectError: refused")
    heartbeat = read_heartbeat(tmp_path)
    assert heartbeat is not None
    assert (heartbeat.looked, heartbeat.error) == (long_ago, "ConnectError: refused")


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now


class Counts:
    """Label Studio, as far as counting is concerned."""

    value: tuple[int, ...] | None = (2, 0, 0)
    asked = 0

    def counts(self, _project: int) -> tuple[int, ...]:
        self.asked += 1
        if self.value is None:
            msg = "gone"
            raise ServiceError(msg, "look")
        return self.value


@pytest.fixture
def scene(monkeypatch) -> tuple[WorthALook, Clock, Counts]:
    clock, counts = Clock(), Counts()
    monkeypatch.setattr(flows.watcher, "time", clock)
    monkeypatch.setattr(flows.watcher, "label_studio", lambda: counts)
    return WorthALook(), clock, counts


def test_a_project_is_read_in_full_on_news_and_every_ten_minutes(scene):
    choice, clock, counts = scene
    assert choice.is_due("spring", [7])
    choice.looked("spring")
    clock.now += 15
    assert not choice.is_due("spring", [7])
    counts.value = (2, 1, 0)
    assert choice.is_due("spring", [7])
    # The look failed and nothing was recorded, so it is due again.
    clock.now += 15
    assert choice.is_due("spring", [7])
    choice.looked("spring")
    clock.now += 599
    assert not choice.is_due("spring", [7])
    clock.now += 2
    assert choice.is_due("spring", [7])


def test_a_project_that_cannot_be_counted_is_looked_at(scene):
    choice, _, counts = scene
    counts.value = None
    assert choice.is_due("spring", [7])
    choice.looked("spring")
    assert choice.is_due("spring", [7])


@pytest.mark.parametrize(("took", "pause"), [(4, 40), (15, 60)])
def test_a_slow_look_is_not_repeated_at_once(scene, took, pause):
    choice, clock, counts = scene
    assert choice.is_due("large", [7])
    clock.now += took
    choice.looked("large")
    counts.value = (2000, 1, 0)
    clock.now += pause - 1
    assert not choice.is_due("large", [7])
    clock.now += 2
    assert choice.is_due("large", [7])


def test_an_llm_batch_is_checked_once_a_minute(scene):
    choice, clock, counts = scene
    assert choice.is_due("spring natural", None)
    clock.now += 59
    assert not choice.is_due("spring natural", None)
    clock.now += 2
    assert choice.is_due("spring natural", None)
    assert counts.asked == 0


def test_a_quiet_project_is_checked_once_a_minute(scene):
    choice, clock, counts = scene
    assert choice.is_due("spring", [7])
    choice.looked("spring")
    clock.now += 601
    assert choice.is_due("spring", [7])
    choice.looked("spring")
    asked = counts.asked
    for _ in range(39):
        clock.now += 15
        assert not choice.is_due("spring", [7])
    assert counts.asked - asked == 9
    counts.value = (2, 1, 0)
    clock.now += 60
    assert choice.is_due("spring", [7])


def test_after_a_sleep_every_run_has_time_to_give_a_sign_of_life(tmp_path, monkeypatch):
    configure(monkeypatch, home=tmp_path)
    restarted = []
    hours_ago = datetime.now(UTC) - timedelta(hours=8)
    monkeypatch.setattr(flows.reconcile, "flow_run_logger", lambda run: getLogger(run.name))
    monkeypatch.setattr(flows.reconcile, "reschedule", lambda run: restarted.append(run.name))
    monkeypatch.setattr("tasks.runs.last_sign_of_life", lambda _: hours_ago)
    server = Prefect(run_of("working", Running(timestamp=hours_ago)))

    watcher = Watcher(tmp_path)
    watcher.began = hours_ago
    watcher.look(server)
    assert restarted == []
    assert awake_since() == watcher.awake

    # Without one in the allowed time, it would be restarted.
    watcher.awake = datetime.now(UTC) - STALE - timedelta(seconds=1)
    watcher.look(server)
    assert restarted == ["annotate working"]


def test_an_old_heartbeat_is_read_again_after_the_wait(isolated_home, monkeypatch):
    awake = datetime.now(UTC)
    Heartbeat(looked=awake - timedelta(hours=8)).write(isolated_home)
    monkeypatch.setattr(
        flows.reconcile.time, "sleep", lambda _: Heartbeat(looked=awake, awake=awake).write(isolated_home)
    )
    assert awake_since() == awake


@contextmanager
def process_of(run: FlowRun) -> Iterator[ForkProcess]:
    """The process of a flow run, as far as its lock is concerned."""
    here, there = FORK.Pipe()

    def hold() -> None:
        os.environ["PREFECT__FLOW_RUN_ID"] = str(run.id)
        importlib.reload(flows)
        there.send("holds")
        signal.pause()

    process = forked(hold)
    try:
        assert here.recv() == "holds"
        yield process
    finally:
        process.kill()
        process.join()


def test_a_killed_process_is_noticed_sooner_than_a_silent_one(isolated_home, restarted, monkeypatch):
    run = run_of("killed", Running())
    stale = []
    monkeypatch.setattr(flows.reconcile, "is_dead", lambda _, after, __: stale.append(after.total_seconds()) or False)

    def seconds() -> float:
        look_at_all(Prefect(run), STALE)
        return stale.pop()

    monkeypatch.setattr("abcdlink.locks.SECONDS_TO_TRY", 0.1)
    assert seconds() == 150  # for example, its process is on another machine
    with process_of(run) as process:
        assert seconds() == 150
        os.kill(process.pid, signal.SIGSTOP)
        assert seconds() == 150
        process.kill()
        process.join()
        assert seconds() == 45
        with process_of(run) as again:
            assert seconds() == 150
            with process_of(run) as other:  # the first slept, was presumed dead, and woke up
                again.kill()
                again.join()
                assert seconds() == 150
                other.kill()
    subprocess.run(
        [sys.executable, "-c", "import flows"], env={**os.environ, "PREFECT__FLOW_RUN_ID": str(run.id)}, check=True
    )
    assert seconds() == 150  # it ended by itself
    assert not list((isolated_home / "locks").glob("_flow-*"))


def test_a_lock_of_another_machine_is_ignored(isolated_home):
    with process_of(run := run_of("killed", Running())):
        pass
    assert is_abandoned(f"{FLOW_LOCK}{run.id}")
    (isolated_home / "locks" / f"{FLOW_LOCK}{run.id}.holder").write_text('{"host": "elsewhere"}')
    assert not is_abandoned(f"{FLOW_LOCK}{run.id}")


class Served(Prefect):
    """As read by a process that cannot suspend its run."""

    def read_flow_run(self, _: UUID) -> FlowRun:
        return self.runs[0]


@pytest.mark.parametrize(
    ("state", "raised"),
    [(AwaitingRetry(message=GONE), Abort), (Pending(), Abort), (Completed(), Abort), (Running(), RuntimeError)],
)
def test_a_process_presumed_dead_yields_without_failing_its_run(state, raised, monkeypatch):
    def refuse(**_: object) -> None:
        raise RuntimeError

    run = run_of("taken", state)
    monkeypatch.setattr("tasks.runs.suspend_flow_run", refuse)
    monkeypatch.setattr("tasks.runs.this_run", SimpleNamespace(id=str(run.id)))
    monkeypatch.setattr("tasks.runs.get_client", lambda **_: nullcontext(Served(run)))
    with pytest.raises(raised):
        suspend("batch-1")
