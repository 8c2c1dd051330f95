"""The times of judgments, and a batch's agreement as the coordinator sees it in the Prefect UI."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from abcdlink.folders import LocalFolder
from abcdlink.interannotator.measures import agreement
from abcdlink.interannotator.times import times_of
from abcdlink.judgments import Judgment
from abcdlink.layout import JUDGMENTS, batch_file
from abcdlink.store import Store
from flows import artifacts
from tasks import running
from tests.helpers.agreement_examples import many, task

YES = ("L", "L")


def tasks(seconds: list[float | None], annotator: int = 1) -> list[Judgment]:
    """Tasks of one annotator, all in one pair."""
    column = [" "] * (annotator - 1) + ["L"]
    return [
        judgment
        for number, value in enumerate(seconds)
        for judgment in task(column, str(number), seconds=None if value is None else {annotator: value})
    ]


def test_the_time_of_a_task_counts_once_for_all_its_candidates():
    times = times_of(task(("LLN", "LLL"), seconds={1: 90, 2: 270}))
    assert [one.task for one in times.annotators] == [90, 270]
    assert [one.pair for one in times.annotators] == [90, 270]
    assert (times.tasks, times.links, times.hours) == (1, 2, pytest.approx(0.1))
    assert times.links_per_hour == pytest.approx(20)


def test_outliers_are_replaced_by_the_median_and_named():
    # Quartiles of the ten: 42.25 and 47.75, so the fence is at 47.75 + 3 * 5.5 = 64.25.
    seconds: list[float | None] = [40, 41, 42, 43, 45, 46, 47, 48, 49, 500]
    (one,) = times_of(tasks(seconds)).annotators
    assert one.limit == pytest.approx(64.25)
    assert [(far.source, far.seconds) for far in one.outliers] == [("9", 500)]
    assert one.pair == 40 + 41 + 42 + 43 + 45 + 46 + 47 + 48 + 49 + 45
    assert one.tasks == 10


def test_few_times_are_only_capped():
    (one,) = times_of(tasks([10, 10, 10, 1_000])).annotators
    assert (one.outliers, one.limit) == ((), 1_800)
    (one,) = times_of(tasks([10, 10, 10, 7_200])).annotators
    assert [far.seconds for far in one.outliers] == [7_200]
    assert one.pair == 40


def test_nearly_equal_times_are_not_outliers():
    (one,) = times_of(tasks([10.0] * 20 + [11.0])).annotators
    assert one.outliers == ()


def test_a_lone_outlier_is_handled():
    (one,) = times_of(tasks([9_000])).annotators
    assert (one.task, len(one.outliers)) == (1_800, 1)


def test_links_per_hour_ignore_tasks_with_unknown_times():
    judgments = task(YES, "1", seconds=60) + task(YES, "2", seconds={1: 60}) + task(("L", "N"), "3", seconds=60)
    times = times_of(judgments)
    assert (times.tasks, times.links) == (2, 1)
    assert times.hours == pytest.approx(4 / 60)
    assert [(one.tasks, one.untimed, one.pairs) for one in times.annotators] == [(3, 0, 1), (2, 1, 0)]


def test_an_unfinished_pair_has_no_time():
    judgments = task(YES, "1", seconds=60) + task(("L", " "), "2", seconds=60)
    assert [one.pair for one in times_of(judgments).annotators] == [120, None]


def test_the_summary_compares_with_the_paper():
    words = times_of(task(("LLLLL", "LLLLL"), seconds={1: 450, 2: 900})).words
    assert words[0] == "annotator-1 takes 7.5 minutes per pair (median of 1), 50% of the 15 minutes in the paper."
    assert "about as long as the 15 minutes in the paper" in words[1]
    assert words[2].startswith("13 links per hour of work: 5 accepted links in 0.4 hours")


@pytest.mark.parametrize("judgments", [[], task(YES), tasks([None])])
def test_missing_times_are_reported(judgments: list[Judgment]):
    times = times_of(judgments)
    assert times.words == ["No times are known."]
    assert times.links_per_hour is None


def test_impossible_times_count_as_unknown():
    times = times_of(tasks([-3, float("nan"), float("inf"), 12]))
    assert [(one.tasks, one.untimed) for one in times.annotators] == [(1, 3)]


def test_a_total_time_of_zero_gives_no_rate():
    assert times_of(task(YES, seconds=0)).links_per_hour is None


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
    assert rows["all"]["kappa"] == f"{result.kappa:.4f}"
    of_llm = result.acceptance["llm"]
    assert rows["method llm"]["accepted"] == f"{of_llm.accepted}/{of_llm.candidates}"
    assert rows["method llm"]["judged"] == of_llm.candidates
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
    assert "cannot be told from" in shown["spring-agreement-1-details"]["markdown"]


def test_three_annotators_are_shown(tmp_path: Path, shown: dict[str, dict[str, Any]]):
    judgments = many(5, [("LLNN", "LNNN", "LLLN")])
    artifacts.show_agreement(run_of(tmp_path, judgments), 1, agreement(judgments))
    assert "Krippendorff's alpha" in shown["spring-agreement-1-details"]["markdown"]
    assert len(shown["spring-agreement-1"]["table"]) == 5
