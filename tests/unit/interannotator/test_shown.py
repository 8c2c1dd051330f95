"""A batch's agreement as the coordinator sees it in the Prefect UI."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from abcdlink.folders import LocalFolder
from abcdlink.interannotator.measures import agreement
from abcdlink.judgments import Judgment
from abcdlink.layout import JUDGMENTS, batch_file
from abcdlink.store import Store
from flows import artifacts
from tasks import running
from tests.helpers.agreement_examples import many, task

GOOD, BAD = ("LLNN", "LLNN"), ("LLNN", "LNLN")


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """Artifacts by key instead of in a Prefect server."""
    kept: dict[str, dict[str, Any]] = {}
    for kind in ("create_table_artifact", "create_markdown_artifact"):
        monkeypatch.setattr(running, kind, lambda key, **what: kept.update({key: what}))
    return kept


def run_of(folder: Path, *batches: list[Judgment]) -> Store:
    store = Store(LocalFolder(folder / "spring"), "spring")
    for number, judgments in enumerate(batches, start=1):
        store.write_records(batch_file(number, JUDGMENTS), judgments)
    return store


def test_the_second_batch_is_compared_with_the_first(tmp_path: Path, shown: dict[str, dict[str, Any]]):
    first, second = many(6, [BAD, GOOD, BAD]), many(6, [GOOD, GOOD, BAD], batch=2)
    store, result = run_of(tmp_path, first, second), agreement(second)
    artifacts.show_agreement(store, 2, result)
    rows = {row["candidates"]: row for row in shown["spring-agreement-2"]["table"]}
    assert list(rows) == ["all", "method llm", "annotator-1 and annotator-2"]
    assert rows["all"]["kappa"] == round(result.kappa or 0, 4)
    assert (rows["method llm"]["accepted"], rows["method llm"]["judged"]) == (
        result.acceptance["llm"].accepted,
        result.acceptance["llm"].candidates,
    )
    text = shown["spring-agreement-2-details"]["markdown"]
    change = (result.kappa or 0) - (agreement(first).kappa or 0)
    assert f"batch 2 minus batch 1: kappa {change:+.4f}" in text
    assert "more pairs are needed" in text


def test_the_first_batch_is_shown_without_the_second(tmp_path: Path, shown: dict[str, dict[str, Any]]):
    first = many(6, [BAD, GOOD, BAD])
    artifacts.show_agreement(run_of(tmp_path, first, many(6, [GOOD], batch=2)), 1, agreement(first))
    assert "batch 2" not in shown["spring-agreement-1-details"]["markdown"]


@pytest.mark.parametrize("judgments", [[], task(("LN",)), task(("LL", "LL"))])
def test_too_few_judgments_are_reported(judgments: list[Judgment], tmp_path: Path, shown: dict[str, dict[str, Any]]):
    result = agreement(judgments)
    artifacts.show_agreement(run_of(tmp_path, judgments), 1, result)
    assert shown["spring-agreement-1"]["table"][0]["kappa"] == result.note
    assert "no estimate" in shown["spring-agreement-1-details"]["markdown"]


def test_three_annotators_are_shown(tmp_path: Path, shown: dict[str, dict[str, Any]]):
    judgments = many(5, [("LLNN", "LNNN", "LLLN")])
    artifacts.show_agreement(run_of(tmp_path, judgments), 1, agreement(judgments))
    assert "Krippendorff's alpha" in shown["spring-agreement-1-details"]["markdown"]
    assert len(shown["spring-agreement-1"]["table"]) == 5
