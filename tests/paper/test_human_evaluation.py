"""The paper's human evaluation, from the released judgments."""

from __future__ import annotations

import pytest

from abcdlink.interannotator import Details, details
from abcdlink.interannotator.measures import Agreement, agreement
from abcdlink.judgment_file import read_judgment_file
from tests.conftest import SharedData


@pytest.fixture(scope="module")
def released(shared_data: SharedData) -> Agreement:
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


def test_aggregates_hold_shared_proposals_and_no_distractors(released: Agreement):
    found = {name: (part.accepted, part.candidates) for name, part in released.aggregates.items()}
    both, llm, retriever = (136, 175), (101, 179), (76, 178)
    assert found == {
        "llm with both": (llm[0] + both[0], llm[1] + both[1]),
        "retriever with both": (retriever[0] + both[0], retriever[1] + both[1]),
        "union": (llm[0] + retriever[0] + both[0], llm[1] + retriever[1] + both[1]),
    }
    # Calling more candidates a link cannot lower the share that everyone calls one.
    for method, part in released.acceptance.items():
        assert min(released.links[method].values()) >= part.accepted
    assert sum(count for said in released.links.values() for count in said.values()) == round(
        2 * released.judged * (released.prevalence or 0)
    )


def test_skewed_labels_lower_kappa_but_not_ac1(released: Agreement):
    both = released.methods["both"]
    assert (both.observed, both.kappa, both.ac1) == pytest.approx((0.817, 0.226, 0.763), abs=5e-4)


def test_the_interval_contains_the_value(released: Agreement):
    assert released.interval is not None
    assert released.interval[0] == pytest.approx(0.53, abs=0.01)
    assert released.interval[1] == pytest.approx(0.64, abs=0.01)


@pytest.fixture(scope="module")
def more(shared_data: SharedData) -> Details:
    return details(read_judgment_file(shared_data / "reviews_he" / "annotations.csv").judgments)


def test_the_second_batch_does_not_agree_significantly_better(more: Details):
    (found,) = more.differences
    assert (found.before_judged, found.after_judged) == (550, 472)
    assert found.kappa.value == pytest.approx(0.0728, abs=5e-5)
    assert found.kappa.interval is not None
    low, high = found.kappa.interval
    assert low < 0
    assert high > 0.0728


def test_the_curve_and_documents_cover_all_judgments(more: Details, released: Agreement):
    assert sum(one.judged for one in more.documents.values()) == 1022
    assert len(more.documents) == more.curve.total == 20
    halfway, end = (more.curve.points[place].measures.kappa for place in (9, 19))
    assert (halfway, end) == (pytest.approx(released.batches[1].kappa), pytest.approx(released.kappa))


def test_twenty_documents_are_enough_for_kappa_but_not_for_acceptance_rates(more: Details):
    needed = {one.measure: one.more for one in more.needed}
    assert needed["kappa"] == 0
    assert all((needed[method] or 0) > 20 for method in ("llm", "retriever", "both"))
