"""The human evaluation of the paper, from the released judgments."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from abcdlink.agreement import Agreement, agreement, read_judgment_file
from abcdlink.candidates import build_pools
from abcdlink.corpus.records import Corpus, Document, Pair, Sentence
from abcdlink.domain import Domain, PoolSizes, SourceFilter
from abcdlink.linking.records import Decision


@pytest.fixture(scope="module")
def released(shared_data: Path) -> Agreement:
    file = read_judgment_file(shared_data / "reviews_he" / "annotations.csv")
    assert file.refused == ()
    return agreement(file.judgments)


def test_kappa(released: Agreement):
    assert released.judged == 1022
    assert released.kappa == pytest.approx(0.5875, abs=5e-5)
    assert {batch: round(part.kappa or 0, 4) for batch, part in released.batches.items()} == {1: 0.5534, 2: 0.6262}


def test_acceptance(released: Agreement):
    found = {method: (part.accepted, part.candidates) for method, part in released.acceptance.items()}
    assert found == {"llm": (101, 179), "retriever": (76, 178), "both": (136, 175), "random": (21, 490)}


def test_skewed_labels_show_in_kappa_and_not_in_ac1(released: Agreement):
    both = released.methods["both"]
    assert (both.observed, both.kappa, both.ac1) == pytest.approx((0.817, 0.226, 0.763), abs=5e-4)


def test_interval_holds_the_value(released: Agreement):
    assert released.interval is not None
    assert released.interval[0] == pytest.approx(0.53, abs=0.01)
    assert released.interval[1] == pytest.approx(0.64, abs=0.01)


def test_pools_of_the_released_predictions(shared_data: Path):
    """The two approaches' predictions give the pools that people judged, all but one of 245."""
    folder = shared_data / "reviews_he"
    nested = json.loads((folder / "docs.json").read_text(encoding="utf-8"))
    predictions = json.loads((folder / "predictions_reviews.json").read_text(encoding="utf-8"))
    documents = {
        f"{pair}/{side}": Document(
            id=f"{pair}/{side}", sentences=tuple(Sentence(id=i, text=t) for i, t in nested[pair][side].items())
        )
        for pair in predictions
        for side in ("doc1", "doc2")
    }
    pairs = [Pair(id=pair, source=f"{pair}/doc1", target=f"{pair}/doc2") for pair in predictions]
    decisions = tuple(
        [
            Decision(approach=name, pair=pair, source=source, targets=tuple(lists[name]))
            for pair, sources in predictions.items()
            for source, lists in sources.items()
        ]
        for name in ("R+LLM", "Retriever")
    )
    settings = SimpleNamespace(pool=PoolSizes(first=3, second=3, random=2), sources=SourceFilter(min_words=1))
    result = build_pools(
        Corpus(name="reviews_he", documents=documents, pairs=pairs),
        (decisions[0], decisions[1]),
        ("llm", "retriever"),
        cast("Domain", SimpleNamespace(settings=settings)),
        "run",
        13,
        {pair.id: 1 for pair in pairs},
    )
    judged: dict[tuple[str, str], set[tuple[str, str]]] = {}
    with (folder / "annotations.csv").open(encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file):
            method = {"mutual": "both"}.get(row["method"], row["method"])
            judged.setdefault((row["document_id"], row["source_id"]), set()).add((row["target_id"], method))
    built = {(p.pair, p.source): {(c.target, c.method) for c in p.candidates} for p in result.pools}
    same = [
        at for at, shown in judged.items() if {c for c in shown if c[1] != "random"} == _decided(built.get(at, set()))
    ]
    assert (len(same), len(judged)) == (244, 245)


def _decided(candidates: set[tuple[str, str]]) -> set[tuple[str, str]]:
    return {candidate for candidate in candidates if candidate[1] != "random"}
