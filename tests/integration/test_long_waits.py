"""A run waits for its annotators for a month: nothing grows beyond a bound, nothing expires, and it resumes correctly.

The month is simulated: the watcher's clock jumps from look to look, and all dates in Prefect's database are set back
before its server starts again, upgraded by Prefect's own migrations from an older version.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, temporary_settings

from abcdlink.judgments import Judgment, Pool
from abcdlink.layout import JUDGMENTS, POOLS, batch_slug
from abcdlink.settings import get_settings
from benchmarks.at_rest import database_bytes
from flows.watcher import QUIET_SECONDS, WHOLE_SECONDS, Watcher
from labelstudio_config.simulate import simulate_batch
from services.programs import environment, prefect_api, prefect_client_environment, process_environment
from services.supervision import Supervisor
from tests.conftest import LIMIT
from tests.helpers.machine import Machine, running_machine
from tests.helpers.waiting import LONG, until

KEY = "patient"
DAYS = 31
WHOLE_LOOKS = int(DAYS * 24 * 3600 / WHOLE_SECONDS) if LONG else 12
LOOKS = int(WHOLE_SECONDS / QUIET_SECONDS)
"""Looks at the whole project, and looks per such look, most of them only counting answers."""
SETTLED = 10 if LONG else 4
"""Looks after which everything that is made only once exists."""
OLD = "3457c6ca2360"
"""The newest migration of Prefect 3.3, of March 2025."""

MOST_DATABASE = 1_000_000
MOST_FOLDER = 10_000
MOST_MEMORY = 32 * 1024 * 1024
"""Most bytes by which Prefect's and Label Studio's databases, the run's folder and the watcher may grow in a month."""


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with running_machine(tmp_path) as made:
        yield made


@contextmanager
def as_the_watcher(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """Act as the watcher of a machine in this process, by a clock that the test moves."""
    Supervisor(machine.home).stop("watcher")
    clock = SimpleNamespace(now=0.0)
    clock.monotonic = lambda: clock.now
    variables = prefect_client_environment(machine.settings)
    prefect = {
        PREFECT_API_URL: variables["PREFECT_API_URL"],
        PREFECT_API_AUTH_STRING: variables["PREFECT_API_AUTH_STRING"],
    }
    with monkeypatch.context() as patch, temporary_settings(prefect):
        patch.setattr("flows.watcher.time", clock)
        for name, value in environment(machine.settings).items():
            if name.startswith("ABCDLINK_"):
                patch.setenv(name, value)
        get_settings.cache_clear()
        yield clock
    get_settings.cache_clear()


def sizes(machine: Machine) -> dict[str, int]:
    """Return the size in bytes of everything that could grow."""
    folder = sum(file.stat().st_size for file in (machine.home / "runs" / KEY).rglob("*") if file.is_file())
    memory = psutil.Process().memory_info().rss
    return {**database_bytes(machine.home), "folder": folder, "memory": memory}


def set_back(database: Path, days: int) -> None:
    """Set all dates of a SQLite database back."""
    with closing(sqlite3.connect(database)) as connection, connection:
        tables = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
        for table in tables:
            for _, column, kind, *_ in connection.execute(f"pragma table_info({table})").fetchall():
                if kind in {"DATETIME", "TIMESTAMP"}:
                    # Including microseconds, which distinguish states.
                    earlier = f"datetime({column}, '-{days} days') || substr({column}, 20)"
                    connection.execute(f"update {table} set {column} = {earlier} where {column} is not null")  # noqa: S608


def migrate(machine: Machine, *command: str) -> None:
    """Migrate Prefect's database to another version of its tables, as an upgrade of Prefect does."""
    done = subprocess.run(
        [sys.executable, "-m", "prefect", "server", "database", *command, "--yes"],
        env=process_environment(environment(machine.settings)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def revision(machine: Machine) -> str:
    with closing(sqlite3.connect(machine.home / "prefect" / "prefect.db")) as connection:
        return str(connection.execute("select version_num from alembic_version").fetchone()[0])


@pytest.mark.timeout(0 if LONG else LIMIT)
def test_a_run_that_waits_for_a_month_does_not_grow_and_resumes_after_an_upgrade(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.start("bootstrap/bootstrap", {"run": KEY, "quick": True, "annotation": {"batches": 1, "preview": False}})
    until(lambda: machine.state("annotate", KEY) == "Suspended", "a run that waits for annotators")
    with as_the_watcher(machine, monkeypatch) as clock, get_client(sync_client=True) as client:
        watcher = Watcher(machine.home)
        for look in range(WHOLE_LOOKS):
            for _ in range(LOOKS):
                clock.now += QUIET_SECONDS
                watcher.look(client)
            if look == SETTLED:
                before = sizes(machine)
        grown = {name: size - before[name] for name, size in sizes(machine).items()}
    told = f"{LOOKS * WHOLE_LOOKS} looks in {WHOLE_LOOKS * WHOLE_SECONDS / 86400:.1f} days, grown by bytes: {grown}"
    print(told)  # noqa: T201 - figures for docs/reliability.md
    if LONG:
        Path("build").mkdir(exist_ok=True)
        Path("build/month.txt").write_text(told + "\n", encoding="utf-8")
    assert grown["prefect"] <= MOST_DATABASE
    assert grown["label-studio"] <= MOST_DATABASE
    assert grown["folder"] <= MOST_FOLDER
    assert grown["memory"] <= MOST_MEMORY

    machine.down()
    new = revision(machine)
    migrate(machine, "downgrade", "-r", OLD)
    assert revision(machine) == OLD
    set_back(machine.home / "prefect" / "prefect.db", DAYS)
    machine.up()
    assert revision(machine) == new
    store = machine.store(KEY)
    waits_since = machine.flow_run("annotate", KEY)
    assert waits_since is not None
    assert waits_since["state"]["name"] == "Suspended"
    simulate_batch(store, machine.settings.label_studio_url, machine.token, 1)
    until(lambda: machine.state("annotate", KEY) == "Completed", "a run that went on")
    of_schedule = {"flows": {"name": {"any_": ["reconcile"]}}, "flow_runs": {"start_time": {"is_null_": False}}}
    # One for the month, and at most one more that has come due since.
    assert len(prefect_api(machine.settings).read("POST", "/flow_runs/filter", of_schedule)) <= 2
    pools = store.read_records(POOLS, Pool)
    assert len(store.read_records(JUDGMENTS, Judgment)) == 2 * sum(len(pool.candidates) for pool in pools)
    assert store.exists(f"label-studio/{batch_slug(1)}/snapshot.json")
