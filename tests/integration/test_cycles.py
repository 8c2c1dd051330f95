"""Servers that stop and come back at random moments: every run whose people are done goes on within 90 seconds.

Two cycles by default; `ABCDLINK_CYCLES=30` runs the long form (half an hour) and prints a line for each.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from contextlib import suppress

import psutil
import pytest

from abcdlink.corpus.io import write_corpus_to
from abcdlink.judgments import Judgment
from abcdlink.layout import JUDGMENTS, NATURAL, POOLS, batch_slug
from abcdlink.settings import Settings, get_settings
from abcdlink.stages.intake import describe_run
from abcdlink.store import Store, open_run
from labelstudio_config.client import connect
from labelstudio_config.run import read_pushed
from labelstudio_config.simulate import simulate_batch
from services import down, status, up
from services.credentials import with_secrets
from services.ports import free_port
from services.programs import LABEL_STUDIO_COMMAND, MARK, prefect_api
from tests.helpers.annotation import make_run
from tests.helpers.waiting import WAIT

CYCLES = int(os.environ.get("ABCDLINK_CYCLES", "2"))
RESUME_SECONDS = 90.0 if "ABCDLINK_CYCLES" in os.environ else WAIT
"""What is promised on a quiet machine is asserted in the long form alone."""
SEED = 13


@pytest.fixture
def machine(tmp_path, monkeypatch) -> Iterator[Settings]:
    if not LABEL_STUDIO_COMMAND.exists():
        pytest.skip("Label Studio is not installed: `make setup`")
    made = Settings(
        home=tmp_path / "home",
        label_studio_url=f"http://127.0.0.1:{free_port()}",
        llm_base_url="http://llm.invalid/v1",
        prefect_port=free_port(),
    )
    up(made)
    made = with_secrets(made)
    # A look from this process keeps its locks in the same home.
    monkeypatch.setenv("ABCDLINK_HOME", str(made.home))
    get_settings.cache_clear()
    yield made
    down(made)
    get_settings.cache_clear()


def start(settings: Settings, deployment: str, parameters: dict[str, object]) -> str:
    found = prefect_api(settings).read("GET", f"/deployments/name/{deployment}")["id"]
    body = {"state": {"type": "SCHEDULED"}, "parameters": parameters}
    return prefect_api(settings).read("POST", f"/deployments/{found}/create_flow_run", body)["id"]


def state(settings: Settings, flow_run: str) -> str:
    return prefect_api(settings).read("GET", f"/flow_runs/{flow_run}")["state"]["name"]


def wait(settings: Settings, flow_run: str, wanted: str, seconds: float) -> float:
    """Wait until a run is in a state; returns how long it took."""
    began = time.monotonic()
    while (now := state(settings, flow_run)) != wanted:
        assert now not in {"Failed", "Cancelled"}, now
        assert time.monotonic() - began < seconds, f"after {seconds} s the run is {now}, not {wanted}"
        time.sleep(0.5)
    return time.monotonic() - began


def begin(settings: Settings) -> tuple[Store, str]:
    """Begin a run whose batch is put in front of annotators."""
    run = make_run(tasks=2)
    store = open_run(run.key, settings.runs_root)
    describe_run(store, run.domain)
    write_corpus_to(store, NATURAL, run.corpus)
    store.write_records(POOLS, run.pools)
    return store, start(
        settings,
        "annotate/annotate",
        {"run": run.key, "annotation": {"batches": 1, "overlap": 2, "shared_queue": True}},
    )


def cut_the_power(settings: Settings) -> None:
    """Kill everything that `up` started, flow runs included, at one moment."""
    mine = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(MARK) == str(settings.home.resolve()) and process.pid != os.getpid():
                mine.append(process)
    assert len(mine) >= 5
    for process in mine:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(mine, timeout=20)


@pytest.mark.timeout(2400 + 150 * CYCLES)
def test_every_run_goes_on_after_the_servers_stopped_at_a_random_moment(machine: Settings) -> None:
    chance = random.Random(SEED)
    token = machine.label_studio_token.get_secret_value()
    for cycle in range(CYCLES):
        store, flow_run = begin(machine)
        wait(machine, flow_run, "Suspended", 120)
        simulate_batch(store, machine.label_studio_url, token, 1)
        # The servers stop while somebody looks, resumes the run, or the run pulls.
        look = start(machine, "reconcile/reconcile", {})
        moment = chance.uniform(0, 12)
        time.sleep(moment)
        before = state(machine, flow_run), state(machine, look)
        cut_the_power(machine) if cycle % 2 else down(machine)
        up(machine)
        took = wait(machine, flow_run, "Completed", RESUME_SECONDS)
        how = "kill" if cycle % 2 else "down"
        print(f"cycle {cycle + 1}: {how} after {moment:.1f} s, states {before}, completed {took:.1f} s after up")  # noqa: T201
        assert_done_once(machine, store)
        wait_until_settled(machine, look)
    assert {service.name: service.state for service in status(machine).services if service.managed} == dict.fromkeys(
        ("prefect", "label-studio", "worker", "watcher"), "ready"
    )


def assert_done_once(settings: Settings, store: Store) -> None:
    """Every task was pushed once, and every answer counts once."""
    client = connect(settings.label_studio_url, settings.label_studio_token.get_secret_value())
    keys = [task["data"]["task_key"] for task in client.tasks(read_pushed(store, batch_slug(1)).project_id)]
    assert len(keys) == len(set(keys)) == 2
    assert len(store.read_records(JUDGMENTS, Judgment)) == 2 * 3 * 2


def wait_until_settled(settings: Settings, flow_run: str) -> None:
    """Wait until a run of ``reconcile`` has ended somehow: nothing is left "running" without a process."""
    deadline = time.monotonic() + 60
    while True:
        reply = prefect_api(settings).ask("GET", f"/flow_runs/{flow_run}")
        if reply.status_code == 404 or reply.json()["state"]["type"] in {"COMPLETED", "CRASHED", "CANCELLED"}:
            return
        assert time.monotonic() < deadline, reply.json()["state"]
        time.sleep(0.5)
