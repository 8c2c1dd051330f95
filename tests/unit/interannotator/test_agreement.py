from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from abcdlink.interannotator.measures import agreement, cohen_kappa, gwet_ac1, kappa_interval, kappas
from abcdlink.interannotator.multiple import LACKING, ONE_ANNOTATOR, ONE_LABEL
from abcdlink.judgment_file import read_judgment_file
from abcdlink.judgments import Judgment
from tests.helpers.builders import judgment

HEADER = "document_id,source_id,target_id,method,annotator_1,annotator_2\n"


def said(*columns: str, method: str = "llm", batch: int = 1) -> list[Judgment]:
    """One string per annotator, one character per candidate: L is Link, N is No Link, a blank is not a judgment."""
    return [
        judgment((f"p{batch}", f"{method}{place // 3}", str(place)), number, letter == "L", batch=batch, method=method)
        for number, column in enumerate(columns, start=1)
        for place, letter in enumerate(column)
        if letter != " "
    ]


def write(folder: Path, text: str, name: str = "annotations.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_two_annotators():
    result = agreement(said("LLNNL", "LNNNL"))
    assert (result.judged, result.incomplete) == (5, 0)
    assert result.observed == pytest.approx(0.8)
    assert result.kappa == pytest.approx(cohen_kappa_score([1, 1, 0, 0, 1], [1, 0, 0, 0, 1]))
    assert result.prevalence == pytest.approx(0.5)
    assert result.interval is not None
    assert result.interval[0] <= result.kappa <= result.interval[1]
    assert result.note == ""


def test_acceptance_needs_all_annotators_and_lists_both_and_random_last():
    judgments = said("LN", "LL", method="random") + said("LL", "LN", method="both") + said("LL", "LL")
    result = agreement(judgments)
    assert {m: (a.accepted, a.candidates) for m, a in result.acceptance.items()} == {
        "llm": (2, 2),
        "both": (1, 2),
        "random": (1, 2),
    }
    assert list(result.acceptance) == ["llm", "both", "random"]
    assert result.acceptance["llm"].interval[0] < 1 == result.acceptance["llm"].rate


def test_agreement_by_batch_and_by_method():
    result = agreement(said("LLNN", "LLNN") + said("LNLN", "NLNL", batch=2, method="both"))
    assert result.batches[1].kappa == pytest.approx(1)
    assert result.batches[2].kappa == pytest.approx(-1)
    assert result.methods["llm"].judged == result.methods["both"].judged == 4


@pytest.mark.parametrize("column", ["LLL", "NNN"])
def test_agreement_on_one_label_is_undefined(column: str):
    result = agreement(said(column, column))
    assert (result.kappa, result.ac1, result.interval, result.note) == (None, None, None, ONE_LABEL)
    assert result.observed == 1


def test_agreement_without_judgments_or_of_one_annotator_is_undefined():
    assert (agreement([]).judged, agreement([]).note) == (0, ONE_ANNOTATOR)
    alone = agreement(said("LN"))
    assert (alone.judged, alone.kappa, alone.note) == (2, None, ONE_ANNOTATOR)
    assert alone.acceptance["llm"].accepted == 1


def test_incomplete_candidates_are_counted_and_left_out():
    result = agreement(said("LLNN", "LN  "))
    assert (result.judged, result.incomplete) == (2, 2)
    assert agreement(said("LN", "LN"), overlap=3).note == LACKING
    assert result.acceptance["llm"].candidates == 2
    assert agreement(said("LLNN", "LN  "), overlap=1).acceptance["llm"].candidates == 4


def test_three_annotators_get_the_mean_over_pairs_and_are_told_so():
    columns = ["LLNNLN", "LNNNLL", "NLNNLN"]
    result = agreement(said(*columns))
    expected = [cohen_kappa_score(list(columns[a]), list(columns[b])) for a, b in ((0, 1), (0, 2), (1, 2))]
    assert result.kappa == pytest.approx(np.mean(expected))
    assert result.note == "mean over 3 pairs of annotators"


def test_three_annotators_with_two_per_candidate():
    result = agreement(said("LLNN  ", "LN  LN", "  NLLN"))
    assert (result.judged, result.incomplete) == (6, 0)
    assert result.acceptance["llm"].accepted == 2


def test_a_mean_over_very_uneven_pairs_says_that_they_weigh_the_same():
    """Someone who takes over a few tasks can move the mean a lot."""
    result = agreement(said("LLNNLNLN  ", "LNLNNLLNLN", "        LN"))
    assert result.kappa == pytest.approx((cohen_kappa_score(list("LLNNLNLN"), list("LNLNNLLN")) + 1) / 2)
    assert result.note == "mean over 2 pairs of annotators, of equal weight though they share 2 to 8 candidates"
    with_one_label = agreement(said("LLNNLNLN  ", "LNLNNLLNLL", "        LL"))
    assert with_one_label.note == "mean over 1 pair of annotators"


tables = st.lists(st.integers(0, 30), min_size=4, max_size=4).filter(lambda t: 0 < 2 * t[0] + t[1] + t[2] < 2 * sum(t))


@given(tables)
def test_fast_kappa_equals_scikit_learn(table: list[int]):
    first = np.repeat([1, 1, 0, 0], table)
    second = np.repeat([1, 0, 1, 0], table)
    expected = cohen_kappa_score(first, second)
    assert cohen_kappa(tuple(table)) == pytest.approx(expected)
    assert kappas(np.array(table)) == pytest.approx(expected)


@given(tables)
def test_ac1_is_bounded_and_1_on_full_agreement(table: list[int]):
    assert -1 - 1e-9 <= gwet_ac1(np.array(table)) <= 1 + 1e-9
    assert gwet_ac1(np.array([table[0], 0, 0, table[3] + 1])) == pytest.approx(1)


def test_ac1_equals_counting_by_hand():
    # p_o = 0.9, q = 0.9, p_e = 2 * 0.9 * 0.1 = 0.18
    assert gwet_ac1(np.array([85, 5, 5, 5])) == pytest.approx((0.9 - 0.18) / 0.82)


def test_the_interval_narrows_with_more_sources_whatever_the_chunks(monkeypatch: pytest.MonkeyPatch):
    few = np.random.default_rng(1).integers(0, 4, size=(20, 1, 4))
    many = np.tile(few, (20, 1, 1))
    wide, narrow = kappa_interval(few), kappa_interval(many)
    assert wide is not None
    assert narrow is not None
    assert narrow[1] - narrow[0] < (wide[1] - wide[0]) / 3
    monkeypatch.setattr("abcdlink.statistics.CHUNK_CELLS", 70)
    monkeypatch.setattr("abcdlink.statistics.RESAMPLES", 50)
    assert kappa_interval(few) == pytest.approx(_interval_in_one_chunk(few))


def _interval_in_one_chunk(tables: np.ndarray) -> tuple[float, float]:
    weights = np.random.default_rng(0).multinomial(len(tables), np.full(len(tables), 1 / len(tables)), size=50)
    values = kappas(np.tensordot(weights, tables, axes=1)[:, 0, :])
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


@given(st.permutations(range(12)))
def test_the_order_of_judgments_does_not_matter(order: list[int]):
    judgments = said("LLNNLN", "LNNNLL")
    result, shuffled = agreement(judgments), agreement([judgments[i] for i in order])
    assert shuffled.kappa == pytest.approx(result.kappa)
    assert shuffled.acceptance == result.acceptance


def test_the_released_table_can_be_read(tmp_path: Path):
    rows = (
        "d1,1,2,mutual,Link,Link\nd1,1,3,overlap,Link,No Link\nd2,0,1,R+LLM,Link,Link\nd2,0,2,random,No Link,No Link\n"
    )
    judgments = list(read_judgment_file(write(tmp_path, "\ufeff" + HEADER + rows)).judgments)
    assert [j.method for j in judgments[::2]] == ["both", "both", "llm", "random"]
    assert [j.batch for j in judgments[::2]] == [1, 1, 2, 2]
    assert {j.annotator for j in judgments} == {"annotator-1", "annotator-2"}


def test_invalid_rows_are_refused_one_by_one(tmp_path: Path):
    rows = (
        "d,1,2,llm,Link,Link\nd,1,3,llm,,Link\n,1,4,llm,Link,Link\nd,1,5,llm,Maybe,Link\nd,1,2,llm,No Link,Link\nd,1\n"
    )
    file = read_judgment_file(write(tmp_path, HEADER + rows))
    assert len(file.judgments) == 2
    assert [refusal.where.rpartition("line ")[2] for refusal in file.refused] == ["3", "4", "5", "6", "7"]
    assert "Maybe" in file.refused[2].reason


def test_a_third_annotator_may_have_blanks(tmp_path: Path):
    text = "document_id,source_id,target_id,method,annotator_1,annotator_2,annotator_3\nd,1,2,llm,Link,,Link\n"
    assert [j.annotator for j in list(read_judgment_file(write(tmp_path, text)).judgments)] == [
        "annotator-1",
        "annotator-3",
    ]


def test_our_own_layout_can_be_read(tmp_path: Path):
    judgments = said("LLN", "LNN")
    path = write(tmp_path, "".join(j.model_dump_json() + "\n" for j in judgments), "judgments.jsonl")
    assert list(read_judgment_file(path).judgments) == judgments
