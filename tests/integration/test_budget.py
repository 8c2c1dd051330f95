"""Candidates by budget on real servers: programs judge two batches, the linker learns in between, a report ends it."""

from __future__ import annotations

import pytest

from abcdlink.domain import find_domain
from abcdlink.interannotator.measures import Agreement
from abcdlink.layout import AGREEMENT, REPORT, batch_slug, model_file
from abcdlink.stages.gains import GAINS, Gains
from abcdlink.waiting import WaitsFor
from tests.helpers.homes import configure
from tests.helpers.labels import PROBABLE, fill_for_budget, strict
from tests.helpers.stack import Stack


def test_the_linker_learns_between_two_batches(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(monkeypatch, home=stack.home)
    store, key, prefect = stack.run("frugal"), "frugal", stack.prefect
    fill_for_budget(store, find_domain("news"), strict())
    pools = {"mode": "budget", "batches": 2, "budget": {"judgments": 100, "audit": 0.15}}
    prefect.wait(prefect.start("candidates/candidates", {"run": key, "pools": pools}), "Completed")
    annotation = {"batches": 2, "overlap": 2, "auto_feedback": True}
    annotate = prefect.start("annotate/annotate", {"run": key, "annotation": annotation})
    for batch in (1, 2):
        stack.wait_until_waiting(annotate, key, WaitsFor.ANNOTATORS, batch_slug(batch))
        assert store.exists(model_file(f"{PROBABLE}@after-1")) == (batch == 2)
        stack.simulate(key, batch)
        stack.look()
    stack.bring_to_its_end(annotate)
    assert len(prefect.tasks_named(annotate, "learn, and choose batch 2", 1)) == 1
    gains = store.read_record(GAINS, Gains)
    assert [gain.batch for gain in gains.batches] == [1, 2]
    assert [choice.linker for choice in gains.choices] == [PROBABLE, f"{PROBABLE}@after-1"]
    second = gains.batches[1]
    assert second.calibration.error < second.without_learning.error
    assert gains.audit is not None
    agreed = store.read_record(AGREEMENT, Agreement)
    assert agreed.judged == sum(gain.judged for gain in gains.batches)
    page = store.read_text(REPORT)
    assert "Links for the budget" in page
    assert f"{gains.batches[0].links + second.links} links after {agreed.judged} judgments" in page
    for part in ("expected before batch 2", "has learned from"):
        assert part in page
