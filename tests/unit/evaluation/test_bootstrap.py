"""Bootstrap intervals agree with theory, depend only on the seed, and respect groups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink import statistics
from abcdlink.errors import InputError
from abcdlink.statistics import MeanDifference, Values, bootstrap_differences, bootstrap_mean

values = st.lists(st.floats(0, 1), min_size=1, max_size=30)


pytestmark = pytest.mark.usefixtures("all_resamples")


def difference(a: Values, b: Values, groups: Sequence[int] | None = None) -> MeanDifference:
    return bootstrap_differences(np.subtract(a, b)[:, None], groups)[0]


@given(values)
def test_the_interval_contains_the_mean_and_stays_within_the_values(sample):
    interval = bootstrap_mean(sample)
    assert interval.mean == pytest.approx(np.mean(sample))
    assert min(sample) - 1e-9 <= interval.low <= interval.high <= max(sample) + 1e-9


def test_the_interval_of_many_values_matches_the_normal_approximation():
    sample = np.random.default_rng(5).normal(0.4, 0.2, 2000)
    interval = bootstrap_mean(sample)
    half = 1.96 * sample.std() / np.sqrt(len(sample))
    assert (interval.high - interval.low) / 2 == pytest.approx(half, rel=0.05)


def test_the_same_seed_gives_the_same_interval_however_draws_are_chunked(monkeypatch):
    sample = np.linspace(0, 1, 50) ** 2
    first = bootstrap_mean(sample)
    monkeypatch.setattr(statistics, "DRAWS_AT_ONCE", 101)
    assert bootstrap_mean(sample) == first
    monkeypatch.setattr(statistics, "SEED", 4)
    assert bootstrap_mean(sample) != first


def test_correlated_values_widen_the_interval_when_groups_are_resampled():
    sample = np.repeat(np.random.default_rng(1).random(20), 10)
    alone, grouped = bootstrap_mean(sample), bootstrap_mean(sample, groups=np.repeat(np.arange(20), 10).tolist())
    assert grouped.mean == alone.mean
    assert grouped.high - grouped.low > 2 * (alone.high - alone.low)


def test_a_clear_difference_has_a_small_p_and_no_difference_has_p_1():
    base = np.random.default_rng(7).random(200)
    better = difference(base + 0.1 + 0.01 * base, base)
    assert better.low > 0.1
    assert better.p == pytest.approx(2 / 10_001)
    assert difference(base, base).p == 1.0


def plain(rows, resamples, seed, groups):
    """Return the resampled means of each column, drawn as in the module, by plain loops."""
    members = {}
    for number, label in enumerate(groups):
        members.setdefault(label, []).append(number)
    units = list(members.values())
    draws = np.random.default_rng(seed).integers(0, len(units), (resamples, len(units)), np.int32)
    means = []
    for drawn in draws.tolist():
        taken = [rows[number] for unit in drawn for number in units[unit]]
        means.append([sum(column) / len(taken) for column in zip(*taken, strict=True)])
    return means


@given(
    st.lists(st.tuples(*[st.sampled_from([-1, -0.5, 0, 0.25, 1])] * 3, st.integers(0, 4)), min_size=1, max_size=12),
    st.booleans(),
    st.integers(0, 9),
)
def test_many_columns_at_once_equal_a_plain_loop_over_the_same_draws(sample, grouped, seed):
    rows, labels = [row[:3] for row in sample], [row[3] for row in sample]
    groups = labels if grouped else range(len(rows))
    means = plain(rows, 50, seed, groups)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statistics, "RESAMPLES", 50)
        patch.setattr(statistics, "SEED", seed)
        found = bootstrap_differences(np.array(rows, float), labels if grouped else None)
    for difference, column, values in zip(found, zip(*means, strict=True), zip(*rows, strict=True), strict=True):
        below, above = sum(round(m, 9) <= 0 for m in column), sum(round(m, 9) >= 0 for m in column)
        low, high = np.percentile(column, (2.5, 97.5))
        expected = (sum(values) / len(values), low, high, min(1, 2 * (min(below, above) + 1) / 51))
        assert (difference.mean, difference.low, difference.high, difference.p) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("grouped", [False, True])
def test_resampling_kinds_of_units_matches_resampling_units(monkeypatch, grouped):
    """Of 2,000 units only few differ; the two ways draw differently, so they agree within the noise of 20,000 draws."""
    units = np.random.default_rng(4).choice([-0.5, 0.0, 1.0], 2000)
    sample, groups = (np.repeat(units, 2), np.repeat(np.arange(2000), 2).tolist()) if grouped else (units, None)
    monkeypatch.setattr(statistics, "RESAMPLES", 20_000)
    kinds = difference(sample, 0 * sample, groups)
    monkeypatch.setattr(statistics, "UNITS_PER_KIND", 10_000)
    one_by_one = difference(sample, 0 * sample, groups)
    width = one_by_one.high - one_by_one.low
    assert kinds != one_by_one
    assert kinds.mean == one_by_one.mean
    assert (kinds.low, kinds.high) == pytest.approx((one_by_one.low, one_by_one.high), abs=0.02 * width)


def test_unusable_values_are_errors():
    with pytest.raises(InputError, match="no value"):
        bootstrap_mean([])
    with pytest.raises(InputError, match="group labels"):
        bootstrap_mean([1.0, 2.0], groups=["a"])
