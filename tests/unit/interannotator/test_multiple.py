from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.interannotator.measures import Agreement, agreement
from abcdlink.interannotator.multiple import ONE_LABEL, alpha_estimate, fleiss_estimate
from tests.helpers.agreement_examples import task

DIAGNOSES = """
00060 03003 01401 00006 03030 20400 00402 20310 20040 00006 10050 11040 03300 10050 02031
00501 30012 51000 02040 10203 00006 01050 02013 20040 10041 05010 40002 02040 10500 00006
"""
"""Fleiss (1971), table 1: 30 patients, six psychiatrists each, the count of each of five diagnoses."""

RELIABILITY = ["123321412   ", "1233224125 3", " 3332342251 ", "12332441251 "]
"""Krippendorff (2011), section C: four observers, twelve units, blanks are missing."""


def counts_of(rows: list[str], labels: str) -> np.ndarray:
    """Return how often each label was given to each unit; one string per observer."""
    return np.array([[[row[unit] for row in rows].count(label) for label in labels] for unit in range(len(rows[0]))])


def sources_of(counts: np.ndarray) -> list[tuple[str, str]]:
    return [("pair", str(unit)) for unit in range(len(counts))]


def alpha_of(rows: list[str], labels: str) -> float | None:
    counts = counts_of(rows, labels)
    return alpha_estimate(counts, sources_of(counts)).value


def alpha_by_coincidences(rows: list[str]) -> float:
    """Alpha by definition: a coincidence matrix filled one ordered pair of values at a time."""
    coincidences: dict[tuple[str, str], float] = {}
    for unit in zip(*rows, strict=True):
        values = [value for value in unit if value != " "]
        for a, b in permutations(values, 2):
            coincidences[a, b] = coincidences.get((a, b), 0) + 1 / (len(values) - 1)
    margin: dict[str, float] = {}
    for (a, _), weight in coincidences.items():
        margin[a] = margin.get(a, 0) + weight
    total = sum(margin.values())
    observed = sum(weight for (a, b), weight in coincidences.items() if a != b) / total
    expected = sum(margin[a] * margin[b] for a in margin for b in margin if a != b) / (total * (total - 1))
    return 1 - observed / expected


def fleiss_by_pairs(counts: np.ndarray) -> float:
    """Fleiss' kappa by definition: agreeing pairs of raters among all pairs, against shares of labels."""
    agreeing = []
    for row in counts:
        raters = [label for label, times in enumerate(row) for _ in range(times)]
        annotator_pairs = list(permutations(raters, 2))
        agreeing.append(sum(a == b for a, b in annotator_pairs) / len(annotator_pairs))
    shares = counts.sum(axis=0) / counts.sum()
    chance = float((shares**2).sum())
    return (float(np.mean(agreeing)) - chance) / (1 - chance)


def test_fleiss_kappa_matches_the_published_example():
    counts = np.array([[int(digit) for digit in row] for row in DIAGNOSES.split()])
    assert counts.shape == (30, 5)
    assert (counts.sum(axis=1) == 6).all()
    assert (counts.sum(axis=0) / counts.sum()).round(3).tolist() == [0.144, 0.144, 0.167, 0.306, 0.239]
    found = fleiss_estimate(counts, sources_of(counts)).value
    assert found == pytest.approx(0.430, abs=5e-4)
    assert found == pytest.approx(fleiss_by_pairs(counts))


def test_krippendorffs_alpha_matches_the_published_example():
    assert alpha_of(["0100000010", "1110010000"], "01") == pytest.approx(0.095, abs=5e-4)
    assert alpha_of(RELIABILITY, "12345") == pytest.approx(0.743, abs=5e-4)
    assert alpha_by_coincidences(RELIABILITY) == pytest.approx(0.743, abs=5e-4)


labels = st.sampled_from("LN ")


@given(st.lists(st.tuples(labels, labels, labels), min_size=2, max_size=30))
def test_alpha_with_missing_judgments_matches_its_definition(units: list[tuple[str, str, str]]):
    rows = ["".join(column) for column in zip(*units, strict=True)]
    found = alpha_of(rows, "LN")
    seen = {v for unit in units for v in unit if v != " " and sum(w != " " for w in unit) > 1}
    if len(seen) < 2:
        assert found is None
    else:
        assert found == pytest.approx(alpha_by_coincidences(rows))


def test_a_summary_of_three_annotators_has_both_measures_and_each_pair():
    columns = ["LLNNLNLN", "LNNNLLLN", "NLNNLNLL"]
    judgments = task(columns[0:3]) + task(["LN", "LN", "NN"], source="1")
    result = agreement(judgments)
    rows = [a + b for a, b in zip(columns, ["LN", "LN", "NN"], strict=True)]
    assert result.multiple is not None
    assert result.multiple.fleiss.value == pytest.approx(fleiss_by_pairs(counts_of(rows, "LN")))
    assert result.multiple.krippendorff.value == pytest.approx(alpha_by_coincidences(rows))
    assert (result.multiple.fleiss_judged, result.multiple.fleiss_judgments) == (10, 3)
    assert result.multiple.fleiss.interval is not None
    assert result.multiple.fleiss.interval[0] <= result.multiple.fleiss.value <= result.multiple.fleiss.interval[1]
    pairs = {"annotator-1 and annotator-2": (0, 1), "annotator-1 and annotator-3": (0, 2)}
    for name, (a, b) in (pairs | {"annotator-2 and annotator-3": (1, 2)}).items():
        alone = agreement(task([rows[a], rows[b]]))
        assert result.annotator_pairs[name].kappa == pytest.approx(alone.kappa)
        assert result.annotator_pairs[name].judged == 10
    assert len(result.annotator_pairs) == 3
    earlier = result.model_dump_json().replace("annotator_pairs", "couples")
    assert Agreement.model_validate_json(earlier) == result


def test_two_annotators_need_no_measure_of_many():
    assert agreement(task(["LN", "NN"])).multiple is None


def test_fleiss_kappa_uses_the_commonest_number_of_judgments_and_names_it():
    result = agreement(task(["LLNNL", "LNNLL", "L    "])).multiple
    assert result is not None
    assert (result.fleiss_judged, result.fleiss_judgments, result.krippendorff_judged) == (4, 2, 5)


@pytest.mark.parametrize("letter", "LN")
def test_agreement_on_one_label_is_undefined(letter: str):
    result = agreement(task([letter * 3] * 3)).multiple
    assert result is not None
    for one in (result.fleiss, result.krippendorff):
        assert (one.value, one.interval, one.note) == (None, None, ONE_LABEL)


def test_three_annotators_without_a_common_candidate():
    result = agreement(task(["L  ", " N ", "  L"]), overlap=1).multiple
    assert result is not None
    assert (result.fleiss.value, result.krippendorff.value, result.fleiss_judged) == (None, None, 0)
