"""Comparisons of approaches: paired, counting unanswered sources, corrected for their number."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.errors import InputError
from abcdlink.evaluation.comparisons import compare_one_with_many, compare_with_best, holm
from abcdlink.statistics import bootstrap_differences

PAIRS = 15
RANDOM = np.random.default_rng(3)


def scores(**f1):
    """Return a per-source table from approach -> F1 of each source; three sources per pair, all answered."""
    return pd.concat(
        [
            pd.DataFrame(
                {
                    "approach": name,
                    "pair": [f"p{n // 3}" for n in range(len(values))],
                    "source": [str(n % 3) for n in range(len(values))],
                    "f1": values,
                    "answered": True,
                }
            )
            for name, values in f1.items()
        ],
        ignore_index=True,
    )


def compare(table, a, b, by="source"):
    return compare_one_with_many(table, a, [b], by)[0]


@pytest.fixture
def table():
    base = RANDOM.random(3 * PAIRS) * 0.5
    return scores(low=base, high=base + 0.2, middle=base + RANDOM.normal(0.1, 0.3, 3 * PAIRS))


def f1_of(table, name):
    """Return F1 sorted by pair and source."""
    return table[table["approach"] == name].sort_values(["pair", "source"])["f1"].to_numpy()


@pytest.mark.parametrize("by", ["source", "pair"])
def test_a_comparison_is_the_paired_bootstrap_in_any_row_order(table, by):
    groups = np.sort([f"p{n // 3}" for n in range(3 * PAIRS)]).tolist() if by == "pair" else None
    difference = np.subtract(f1_of(table, "high"), f1_of(table, "middle"))
    (expected,) = bootstrap_differences(difference[:, None], groups=groups)
    found = compare(table.sample(frac=1, random_state=1), "high", "middle", by)
    assert found.difference.model_dump() == pytest.approx(expected.model_dump(), abs=1e-9)
    assert found.p_adjusted == found.difference.p


def test_a_constant_lead_is_significant_and_a_tie_is_not(table):
    assert compare(table, "high", "low").told_apart
    same = compare(table, "low", "low")
    assert (same.difference.mean, same.difference.p, same.told_apart) == (0, 1, False)


def test_unanswered_sources_count_as_zero():
    table = scores(a=[0.5] * 6, b=[0.8] * 6)
    table.loc[(table["approach"] == "b") & (table["source"] != "0"), "answered"] = False
    assert compare(table, "a", "b").difference.mean == pytest.approx(0.5 - 0.8 / 3)


def test_the_best_is_compared_with_every_other_with_joint_correction(table):
    comparisons = compare_with_best(table)
    means = {name: f1_of(table, name).mean() for name in ("low", "middle")}
    assert [c.a for c in comparisons] == ["high"] * 2
    assert [c.b for c in comparisons] == sorted(means, key=lambda name: -means[name])
    assert [c.p_adjusted for c in comparisons] == holm([c.difference.p for c in comparisons])
    alone = compare(table, "high", comparisons[0].b)
    assert comparisons[0].difference.model_dump() == pytest.approx(alone.difference.model_dump())


def test_one_approach_has_nothing_to_be_compared_with():
    assert compare_with_best(scores(a=[0.5])) == []


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_matches_its_definition(p):
    def adjusted(value):
        """The largest (m - rank of q) * q over all q that are not larger, at most 1."""
        return max(min(1, q * sum(r >= q for r in p)) for q in p if q <= value)

    assert holm(p) == pytest.approx([adjusted(value) for value in p])


def test_holm_of_a_worked_example():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_incomparable_tables_are_errors(table):
    with pytest.raises(InputError, match=r"did not score 'x'.*high, low, middle"):
        compare(table, "x", "low")
    with pytest.raises(InputError, match="high was not scored on every source"):
        compare_with_best(table.drop(index=table.index[(table["approach"] == "high")][:1]))
    with pytest.raises(InputError, match="has an approach twice"):
        compare_with_best(pd.concat([table, table]))
    with pytest.raises(InputError, match="is empty"):
        compare_with_best(table[:0])
