"""A run waits for Go before annotators see a batch: new filters, a refused one, and kills in between."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import psutil
import pytest

from abcdlink.judgments import Pool
from abcdlink.layout import POOLS, batch_file, batch_slug
from abcdlink.stages.batch_preview import PREVIEW_PAGE, preview_of, review_of
from abcdlink.store import Store
from abcdlink.waiting import WaitsFor
from labelstudio_config.run import is_pushed, read_pushed
from tests.helpers.example_run import proposed_run
from tests.helpers.homes import configure
from tests.helpers.prefect_server import PrefectServer
from tests.helpers.stack import Stack
from tests.helpers.waiting import until

KEY = "looked-at"


@pytest.fixture
def store(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A run of two batches for which BM25 proposes."""
    configure(monkeypatch, home=stack.home)
    return proposed_run(KEY)


def pools(store: Store, batch: int) -> list[Pool]:
    return [pool for pool in store.read_records(POOLS, Pool) if pool.batch == batch]


def resume(stack: Stack, run: str, form: dict[str, Any]) -> None:
    """Fill in the form, as in the Prefect UI."""
    assert stack.prefect.post(f"/flow_runs/{run}/resume", {"run_input": form})["status"] == "ACCEPT"


def kill_all(prefect: PrefectServer) -> None:
    """Kill the worker and all flow runs that it started, as when the power fails."""
    started = psutil.Process(prefect.worker.pid).children(recursive=True)
    prefect.kill_worker()
    for process in started:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def test_each_batch_waits_for_go_whatever_is_killed(stack: Stack, store: Store) -> None:
    prefect = stack.prefect
    annotation = {"batches": 2, "overlap": 2, "preview": True, "auto_feedback": True, "shared_queue": True}
    run = prefect.start("annotate/annotate", {"run": KEY, "annotation": annotation})

    def waits(batch: int, looks: int) -> None:
        until(lambda: review_of(store, batch).looks == looks, f"{looks} looks at batch {batch}")
        stack.wait_until_waiting(run, KEY, WaitsFor.COORDINATOR, batch_slug(batch))

    waits(1, 0)
    now = json.loads(stack.command("status", KEY, "--json"))
    assert now["headline"] == "Batch 1 of 2 waits for your Go"
    first = preview_of(store, 1)
    assert first
    assert "as annotators will see it" in store.read_text(batch_file(1, PREVIEW_PAGE))
    shown = str([one["data"] for one in prefect.artifacts(run) if f"{KEY}-preview-1" == one["key"]])
    assert f"random {first.methods['random']} (" in shown

    # Neither a look by the watcher nor an empty resume counts as Go.
    stack.look()
    assert prefect.post(f"/flow_runs/{run}/resume")["status"] == "REJECT"
    assert not is_pushed(store, batch_slug(1))

    # Filters that leave nothing are refused with a reason, and the batch keeps waiting.
    resume(stack, run, {"min_words": 1000, "exclude": [], "unproposed": False, "go": True})
    waits(1, 1)
    assert "no candidates to annotate" in stack.command("status", KEY, "--json")
    assert preview_of(store, 1) == first

    # Others are accepted; everything is killed meanwhile.
    stack.command("annotate", "preview", KEY, "--min-words", "13")
    kill_all(prefect)
    # While nothing runs, so that no living process is presumed dead.
    stack.look(stale_seconds=0)
    prefect.start_worker()
    waits(1, 2)
    second = preview_of(store, 1)
    assert second
    assert (second.filters.min_words, second.tasks < first.tasks) == (13, True)
    assert not is_pushed(store, batch_slug(1))

    stack.command("annotate", "go", KEY)
    stack.wait_until_waiting(run, KEY, WaitsFor.ANNOTATORS, batch_slug(1))
    assert len(read_pushed(store, batch_slug(1)).task_keys) == second.tasks
    stack.simulate(KEY, 1)
    stack.look()

    # The next batch waits too, with the same filters, and hours estimated from the times of the first.
    waits(2, 0)
    third = preview_of(store, 2)
    assert third
    assert (third.filters, third.timed > 0) == (second.filters, True)
    seen = pools(store, 1)
    resume(stack, run, {**third.filters.model_dump(mode="json"), "min_words": 1, "go": True})
    stack.wait_until_waiting(run, KEY, WaitsFor.ANNOTATORS, batch_slug(2))
    assert len(read_pushed(store, batch_slug(2)).task_keys) == len(pools(store, 2)) > third.tasks
    assert pools(store, 1) == seen
    stack.simulate(KEY, 2)
    stack.bring_to_its_end(run)
