"""The human evaluation of the paper, from the released judgments."""

from __future__ import annotations

from pathlib import Path

import pytest

from abcdlink.agreement import Agreement, agreement, read_judgment_file


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
