"""The paper's tables of true recall, computed by the library."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from abcdlink.exhaustive import ExhaustiveGold, Over, RecallRow, View, measure
from tests.conftest import SharedData

NAMES = ("R+LLM", "Retriever", "Random")


@pytest.fixture(scope="module")
def gold(shared_data: SharedData) -> ExhaustiveGold:
    links: dict[tuple[str, str], set[str]] = {}
    with (shared_data / "reviews_he" / "reviews_gold_labels.csv").open(encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file):
            links.setdefault((row["og_doc_id"], row["source_id"]), set()).add(row["target_id"])
    return ExhaustiveGold({source: frozenset(targets) for source, targets in links.items()})


def rows_of(gold: ExhaustiveGold, folder: Path, view: View, limit: int | None) -> dict[tuple[str, Over], RecallRow]:
    predicted = json.loads((folder / "reviews_he" / "predictions_reviews.json").read_text(encoding="utf-8"))
    lists = {
        name: {
            (pair, source): by[name][:limit]
            for pair, sources in predicted.items()
            for source, by in sources.items()
            if name in by
        }
        for name in NAMES
    }
    return {(row.approach, row.over): row for row in measure(gold, lists, view, ("R+LLM", "Retriever"))}


@pytest.mark.parametrize(
    ("table", "view", "limit", "over"),
    [("true_recall", View.FULL, None, Over.GOLD), ("true_recall_pool", View.POOL, 3, Over.SHARED)],
)
def test_the_papers_tables(
    shared_data: SharedData, gold: ExhaustiveGold, table: str, view: View, limit: int | None, over: Over
):
    printed = json.loads((shared_data / "paper_tables.json").read_text(encoding="utf-8"))[table]["REVIEWS"]
    rows = rows_of(gold, shared_data, view, limit)
    chosen = {"Both": rows["both", over], **{name: rows[name, Over.GOLD] for name in NAMES}}
    for name, row in chosen.items():
        assert [round(value.mean, 2) for value in row.measures if value] == printed[name], name
    assert chosen["R+LLM"].sources == 29


def test_the_papers_mean_for_both_under_pool_limits_omits_ten_sources(shared_data: SharedData, gold: ExhaustiveGold):
    """A mean over all sources with gold is lower: where both find nothing in common, recall is 0."""
    rows = rows_of(gold, shared_data, View.POOL, 3)
    ours, paper = rows["both", Over.GOLD], rows["both", Over.SHARED]
    assert (ours.sources, paper.sources) == (29, 19)
    assert ours.recall is not None
    assert paper.recall is not None
    assert ours.recall.mean == pytest.approx(paper.recall.mean * 19 / 29)
    assert ours.recall.low < ours.recall.mean < ours.recall.high
