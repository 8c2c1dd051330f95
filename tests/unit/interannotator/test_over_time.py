from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from abcdlink.interannotator import by_document
from abcdlink.interannotator.groups import grouped
from abcdlink.interannotator.measures import agreement
from abcdlink.interannotator.multiple import ONE_ANNOTATOR, ONE_LABEL
from abcdlink.interannotator.over_time import (
    Difference,
    Unit,
    batch_differences,
    by_position,
    difference_of_groups,
    learning_curve,
)
from abcdlink.judgments import Judgment
from tests.helpers.agreement_examples import many, task

GOOD, BAD, POOR = ("LLNN", "LLNN"), ("LLNN", "LNLN"), ("LLNN", "NNLL")


def difference(
    before: list[Judgment], after: list[Judgment], names: tuple[str, str] = ("before", "after")
) -> Difference:
    return difference_of_groups(grouped(before).complete, grouped(after).complete, names)


def kappa(*columns: tuple[str, str]) -> float:
    first, second = ("".join(parts) for parts in zip(*columns, strict=True))
    return float(cohen_kappa_score(list(first), list(second)))


def test_the_curve_is_cumulative_by_last_submission():
    judgments = (
        task(POOR, "1", minute={1: 1, 2: 90})
        + task(GOOD, "2", minute={1: 2, 2: 20})
        + task(BAD, "3", minute={1: 60, 2: 30})
    )
    curve = learning_curve(judgments, Unit.TASK)
    assert (curve.by_time, curve.total) == (True, 3)
    assert [point.done for point in curve.points] == [1, 2, 3]
    assert [point.measures.judged for point in curve.points] == [4, 8, 12]
    expected = [kappa(GOOD), kappa(GOOD, BAD), kappa(GOOD, BAD, POOR)]
    assert [point.measures.kappa for point in curve.points] == pytest.approx(expected)


def test_the_curve_follows_file_order_when_a_time_is_missing():
    judgments = task(POOR, "1", minute=9) + task(GOOD, "2", minute={1: 1})
    curve = learning_curve(judgments, Unit.TASK)
    assert not curve.by_time
    assert curve.points[0].measures.kappa == pytest.approx(kappa(POOR))


def test_a_pair_is_done_when_its_last_task_is():
    judgments = (
        task(GOOD, "1", pair="a", minute=1)
        + task(BAD, "1", pair="b", minute=2)
        + task(POOR, "2", pair="b", minute=3)
        + task(GOOD, "2", pair="a", minute=4)
    )
    curve = learning_curve(judgments)
    assert [point.measures.kappa for point in curve.points] == pytest.approx(
        [kappa(BAD, POOR), kappa(BAD, POOR, GOOD, GOOD)]
    )
    assert curve.points[-1].measures.kappa == pytest.approx(agreement(judgments).kappa)


def test_long_curves_are_thinned_but_keep_the_last_point():
    curve = learning_curve(many(100, [GOOD, BAD], sources=1))
    assert len(curve.points) == 40
    assert (curve.points[-1].done, curve.total, curve.points[-1].measures.judged) == (100, 100, 400)


def test_quarters_follow_the_mean_position_in_each_annotators_order():
    # The second annotator works faster and not in document order.
    kinds = [GOOD, GOOD, BAD, BAD, GOOD, GOOD, POOR, POOR]
    judgments = []
    for place in (7, 3, 0, 1, 2, 4, 5, 6):
        judgments += task(
            kinds[place], str(place), minute={1: 10.0 * place, 2: 100.0 + place}, seconds={1: 60 - place, 2: 20 - place}
        )
    (batch,) = by_position(judgments)
    assert batch.by_time
    assert [part.tasks for part in batch.parts] == [2, 2, 2, 2]
    found = [part.measures.kappa for part in batch.parts]
    assert found == pytest.approx([kappa(GOOD), kappa(BAD), kappa(GOOD), kappa(POOR)])
    assert [part.timed for part in batch.parts] == [4, 4, 4, 4]
    assert [part.seconds for part in batch.parts] == [39.5, 37.5, 35.5, 33.5]
    assert batch.change is not None
    assert batch.change.kappa.value == pytest.approx(kappa(POOR) - kappa(GOOD))
    assert (batch.change.before_judged, batch.change.after_judged) == (8, 8)


def test_batches_are_divided_and_small_ones_into_fewer_parts():
    judgments = task(GOOD, "1") + task(BAD, "1", pair="q", batch=2) + task(BAD, "2", pair="q", batch=2)
    one, two = by_position(judgments)
    assert (one.batch, len(one.parts), one.change, one.by_time) == (1, 1, None, False)
    assert (two.batch, len(two.parts)) == (2, 2)
    assert one.parts[0].seconds is None


@pytest.mark.parametrize("count", [1, 3, 4, 5, 6, 7, 22])
def test_parts_hold_every_task_once_and_everyones_times(count: int):
    judgments = [one for place in range(count) for one in task(GOOD, str(place), minute=place, seconds=20)]
    (batch,) = by_position(judgments)
    sizes = [part.tasks for part in batch.parts]
    assert (sum(sizes), len(sizes)) == (count, min(4, count))
    assert max(sizes) - min(sizes) <= 1
    assert [part.timed for part in batch.parts] == [2 * size for size in sizes]


def test_the_difference_between_batches_has_an_interval():
    judgments = many(8, [BAD, POOR, GOOD]) + many(8, [GOOD, GOOD, BAD], batch=2)
    (found,) = batch_differences(judgments)
    one, two = (agreement([j for j in judgments if j.batch == batch]) for batch in (1, 2))
    assert (found.before, found.after, found.before_judged, found.after_judged) == ("batch 1", "batch 2", 96, 96)
    for measure in ("kappa", "observed", "ac1"):
        estimate = getattr(found, measure)
        assert estimate.value == pytest.approx(getattr(two, measure) - getattr(one, measure))
        assert estimate.interval[0] < estimate.value < estimate.interval[1]
    assert found.kappa.interval is not None
    assert found.kappa.interval[0] > 0


def test_the_interval_of_a_difference_adds_both_variances():
    generator = np.random.default_rng(5)
    judgments = []
    for batch in (1, 2):
        for number in range(45):
            first = "".join(generator.choice(["L", "N"], 4))
            second = "".join(c if generator.random() < 0.8 else "LN"[c == "L"] for c in first)
            judgments += task((first, second), str(number), batch=batch, pair=f"b{batch}")
    (found,) = batch_differences(judgments)
    sides = agreement(judgments).batches.values()
    widths = [side.interval[1] - side.interval[0] for side in sides if side.interval]
    assert found.kappa.interval is not None
    width = found.kappa.interval[1] - found.kappa.interval[0]
    assert width == pytest.approx(float(np.hypot(*widths)), rel=0.05)


def test_any_two_sets_can_be_compared_and_equal_ones_do_not_differ():
    judgments = many(6, [GOOD, BAD])
    found = difference(judgments, judgments, ("first", "again"))
    assert found.kappa.value == 0
    assert found.kappa.interval is not None
    assert found.kappa.interval[0] < 0 < found.kappa.interval[1]


def test_undefined_differences_name_the_side():
    found = difference(task(GOOD), task(("LL", "LL")), ("batch 1", "batch 2"))
    assert (found.kappa.value, found.kappa.interval) == (None, None)
    assert found.kappa.note == f"batch 2: {ONE_LABEL}"
    assert found.observed.value == 0
    alone = difference(task(GOOD), task(("LN",)))
    assert alone.observed.note == f"after: {ONE_ANNOTATOR}"
    assert difference_of_groups([], [], ("a", "b")).kappa.value is None


def test_measures_by_document():
    judgments = task(GOOD, pair="a") + task(BAD, pair="b") + task(("LL", "LL"), pair="c")
    found = by_document(judgments)
    assert list(found) == ["a", "b", "c"]
    assert [one.judged for one in found.values()] == [4, 4, 2]
    assert found["b"].kappa == pytest.approx(kappa(BAD))
    assert (found["c"].kappa, found["c"].note, found["c"].observed) == (None, ONE_LABEL, 1)


@pytest.mark.parametrize("judgments", [[], task(("LNL",)), task(("LL", "LL")), task(("L ", " L"))])
def test_too_few_judgments_crash_nothing(judgments: list):
    curve = learning_curve(judgments)
    assert all(point.measures.kappa is None for point in curve.points)
    assert all(part.measures.kappa is None for batch in by_position(judgments) for part in batch.parts)
    assert batch_differences(judgments) == ()
    assert all(one.kappa is None for one in by_document(judgments).values())


def test_all_three_measures_have_intervals():
    result = agreement(many(10, [GOOD, BAD, GOOD]))
    for value, interval in (
        (result.kappa, result.interval),
        (result.observed, result.observed_interval),
        (result.ac1, result.ac1_interval),
    ):
        assert value is not None
        assert interval is not None
        assert interval[0] < value < interval[1]
    whole = agreement(task(("LL", "LL")))
    assert (whole.observed_interval, whole.ac1_interval) == ((1, 1), None)
