"""The cost of an idle installation: CPU by program, growth of the databases, and flow runs made.

``make at-rest`` (``python -m benchmarks.at_rest``) starts everything in a new home and measures a quarter of an hour
without any requests, then one in which a run waits for annotators. Each includes one scheduled ``reconcile``.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from abcdlink.settings import Settings
from benchmarks import Claim
from services.credentials import with_secrets
from services.health import PrefectApi, free_port
from services.programs import EVENT_HOURS, prefect_api
from services.start import down, up
from services.supervision import Supervisor

MINUTES = 15.0
SETTLE_SECONDS = 90.0
"""From "ready" until everything that happens only once (block types, first schedules, the first look) is over."""
DAY = 24 * 60
WAITING, WAITING_SECONDS = "waiting", 600.0
"""The run that waits for annotators, and the seconds within which it must get there."""
MOST_CORES = 0.02
MOST_MEGABYTES = 5.0
MEGABYTE = 1024 * 1024


def measured(home: Path, minutes: float) -> Iterator[Claim]:
    """Measure an installation in a new home: first without a run, then with one that waits for annotators."""
    settings = Settings(
        home=home,
        prefect_port=free_port(),
        llm_port=free_port(),
        label_studio_url=f"http://127.0.0.1:{free_port()}",
    )
    try:
        up(settings)
        api = prefect_api(with_secrets(settings))
        # The steady state: a run of reconcile that did nothing is removed by the next one.
        start(api, "reconcile/reconcile", {})
        yield from at_rest(home, minutes, "there are no requests")
        start(
            api, "bootstrap/bootstrap", {"run": WAITING, "quick": True, "annotation": {"batches": 1, "preview": False}}
        )
        waiting = {"flows": {"name": {"any_": ["annotate"]}}, "flow_runs": {"state": {"name": {"any_": ["Suspended"]}}}}
        began = time.monotonic()
        while not api.read("POST", "/flow_runs/filter", waiting):
            if time.monotonic() - began > WAITING_SECONDS:
                msg = f"the run {WAITING} did not get as far as waiting for annotators"
                raise RuntimeError(msg)
            time.sleep(1)
        yield from at_rest(home, minutes, "a run waits for annotators")
    finally:
        down(settings)


def start(api: PrefectApi, deployment: str, parameters: dict[str, Any]) -> None:
    """Start a run of a deployment."""
    found = api.read("GET", f"/deployments/name/{deployment}")["id"]
    body = {"state": {"type": "SCHEDULED"}, "parameters": parameters}
    api.read("POST", f"/deployments/{found}/create_flow_run", body)


def at_rest(home: Path, minutes: float, what: str) -> Iterator[Claim]:
    """Let things settle, then measure for this long; ``what`` describes what is going on."""
    time.sleep(SETTLE_SECONDS)
    began, cpu, bytes_ = time.monotonic(), cpu_seconds(home), database_bytes(home)
    began_at = datetime.now(UTC)
    time.sleep(60 * minutes)
    seconds = time.monotonic() - began
    spent = cpu_seconds(home)
    spent.subtract(cpu)
    grown = Counter(database_bytes(home))
    grown.subtract(bytes_)
    made = flow_runs(home, began_at)
    yield Claim(
        what=f"CPU in cores while {what}",
        ours=", ".join(f"{name} {used:.2f} s" for name, used in spent.most_common()),
        baseline=f"{seconds:.0f} s of one core",
        value=sum(spent.values()) / seconds,
        unit="cores",
        most=MOST_CORES,
        note=f"{seconds / 60:.1f} minutes",
    )
    yield Claim(
        what=f"Growth of the databases in a day while {what}",
        ours=", ".join(f"{name} {size} bytes" for name, size in grown.items()),
        baseline="none",
        value=sum(grown.values()) / MEGABYTE / seconds * 3600 * EVENT_HOURS,
        unit="MB",
        most=MOST_MEGABYTES,
        note=f"pages in use. Only events grow; they are kept for {EVENT_HOURS} hours, after which as many go as come",
    )
    yield Claim(
        what=f"Flow runs made while {what}",
        ours=f"{made} that Prefect still lists",
        baseline="none",
        value=made / seconds * 60 * DAY,
        unit="a day",
    )


def cpu_seconds(home: Path) -> Counter[str]:
    """Return the CPU seconds of each program since its start, including ended child processes."""
    supervisor = Supervisor(home.resolve())
    pids = {name: int(info["pid"]) for name, info in supervisor.states().items() if info["pid"]}
    pids["supervisord"] = int((home / "supervisord.pid").read_text(encoding="utf-8"))
    seconds: Counter[str] = Counter()
    for name, pid in pids.items():
        top = psutil.Process(pid)
        tree = [top, *(top.children(recursive=True) if name != "supervisord" else [])]
        for process in tree:
            try:
                times = process.cpu_times()
            except psutil.NoSuchProcess:
                continue
            seconds[name] += times.user + times.system
            if name != "supervisord":
                seconds[name] += times.children_user + times.children_system
    return seconds


def database_bytes(home: Path) -> dict[str, int]:
    """Return how much of each SQLite database is in use."""
    databases = {
        "prefect": home / "prefect" / "prefect.db",
        "label-studio": home / "label-studio" / "label_studio.sqlite3",
    }
    return {name: _bytes_in_use(path) for name, path in databases.items() if path.exists()}


def flow_runs(home: Path, since: datetime) -> int:
    """Return how many of the flow runs that Prefect still lists began since then."""
    with sqlite3.connect(f"file:{home / 'prefect' / 'prefect.db'}?mode=ro", uri=True) as database:
        began = (f"{since:%Y-%m-%d %H:%M:%S}",)
        return int(database.execute("select count(*) from flow_run where start_time >= ?", began).fetchone()[0])


def _bytes_in_use(path: Path) -> int:
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        pages, free, size = (
            int(database.execute(f"pragma {what}").fetchone()[0])
            for what in ("page_count", "freelist_count", "page_size")
        )
    return (pages - free) * size


def main() -> int:
    """Measure and print; returns 1 when a claim is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.at_rest", description=__doc__)
    parser.add_argument("--minutes", type=float, default=MINUTES, help="how long to measure")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = list(measured(Path(folder), given.minutes))
    for claim in found:
        print(f"{claim.what}: {claim.value:.3g} {claim.unit} ({claim.ours}; {claim.note})")
    Path("build").mkdir(exist_ok=True)
    figures = [claim.model_dump() | {"reached": claim.reached} for claim in found]
    Path("build/at_rest.json").write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 1 if any(claim.reached is False for claim in found) else 0


if __name__ == "__main__":
    sys.exit(main())
