"""Candidates by probability, and what the audit says about those that nobody saw."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink import audits
from abcdlink.audits import Audited
from abcdlink.candidates.budget import BudgetRules, Order, chances
from abcdlink.errors import InputError


def table(matrices):
    """Return rankings of one pair for each matrix of probabilities, rows shuffled."""
    rows = []
    for n, matrix in enumerate(matrices):
        for i, row in enumerate(matrix):
            order = sorted(range(len(row)), key=lambda j: -row[j])
            rows += [(f"p{n}", f"s{i}", f"t{j}", row[j], rank) for rank, j in enumerate(order, start=1)]
    frame = pd.DataFrame(rows, columns=["pair", "source", "target", "score", "rank"])
    return frame.sample(frac=1, random_state=0).reset_index(drop=True)


def everything(rankings):
    return np.ones(len(rankings), bool)


def made(seed=0, pairs=30):
    """Return rankings with correct probabilities, and a truth drawn from them."""
    random = np.random.default_rng(seed)
    rankings = table([random.beta(0.15, 2.5, (8, 9)).tolist() for _ in range(pairs)])
    return rankings, random.random(len(rankings)) < rankings["score"].to_numpy()


matrices = st.lists(
    st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=1, max_size=4), min_size=1, max_size=4
)


@given(matrices, st.integers(1, 3), st.integers(0, 2), st.integers(1, 40))
def test_tasks_keep_their_sizes_and_the_best_come_first(scores, least, more, judgments):
    rankings = table(scores)
    rules = BudgetRules(judgments=judgments, least=least, most=least + more, audit=0)
    order = Order(rankings, everything(rankings), rules)
    chosen = order.select(0).chosen
    assert chosen.sum() == order.taken() <= judgments
    counts = rankings[chosen].groupby(["pair", "source"]).size()
    assert counts.between(min(least, 3), least + more).all()
    for _, rows in rankings.assign(chosen=chosen).groupby(["pair", "source"]):
        assert rows.sort_values("rank")["chosen"].is_monotonic_decreasing
    if least == 1 and not chosen.all():
        free = (rankings["rank"] <= rules.most).to_numpy() & ~chosen
        left = rankings["score"][free].max() if free.any() else 0
        assert not chosen.any() or rankings["score"][chosen].min() >= left


def test_filtered_sources_are_never_shown():
    rankings, _ = made()
    wanted = (rankings["source"] != "s0").to_numpy()
    selection = Order(rankings, wanted, BudgetRules(judgments=500, audit=0.3)).select(1)
    assert selection.judged.any()
    assert not selection.judged[~wanted].any()
    assert (selection.chance[~wanted] == 0).all()
    assert (selection.chance[wanted] > 0).all()
    assert (selection.chance[selection.chosen] == 1).all()


def test_a_budget_is_in_judgments_hours_or_links():
    rankings, _ = made()

    def point(**rules):
        return Order(rankings, everything(rankings), BudgetRules(**rules)).forecast().chosen

    assert point(judgments=400, audit=0.2).judgments == pytest.approx(400, abs=2)
    assert point(hours=1.0, seconds=9.0, audit=0.0) == point(judgments=400, audit=0.0)
    wanted = point(links=50)
    assert 50 <= wanted.links.value < 51
    assert point(audit=0.0).judgments == 240 * 8  # the most that tasks of 240 source sentences can hold
    with pytest.raises(InputError, match=r"as hours and as links\. give one of"):
        BudgetRules(hours=1, links=3)
    with pytest.raises(InputError, match="lower the least"):
        BudgetRules(least=5, most=4)
    with pytest.raises(InputError, match="not probabilities"):
        Order(rankings.assign(score=7.0), everything(rankings), BudgetRules())


def test_the_forecast_holds_when_probabilities_are_right():
    inside = {"links": 0, "recall": 0}
    for seed in range(40):
        rankings, linked = made(seed)
        order = Order(rankings, everything(rankings), BudgetRules(judgments=300, audit=0))
        chosen, point = order.select(0).chosen, order.forecast().chosen
        inside["links"] += point.links.low <= linked[chosen].sum() <= point.links.high
        inside["recall"] += point.recall.low <= linked[chosen].sum() / linked.sum() <= point.recall.high
    assert min(inside.values()) >= 35
    curve = order.forecast().curve
    assert [one.judgments for one in curve] == sorted({one.judgments for one in curve})
    assert all(a.links.value <= b.links.value for a, b in pairwise(curve))
    assert curve[0].acceptance > curve[-1].acceptance


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50), st.integers(0, 60))
def test_inclusion_probabilities_add_up_and_none_exceeds_one(probability, wanted):
    found = chances(np.array(probability), wanted)
    assert ((found >= 0) & (found <= 1)).all()
    assert found.sum() == pytest.approx(min(wanted, len(probability)))


def test_the_audit_depends_only_on_the_seed():
    rankings, _ = made()
    order = Order(rankings, everything(rankings), BudgetRules(judgments=400, audit=0.3))
    assert (order.select(3).audited == order.select(3).audited).all()
    assert (order.select(3).audited != order.select(4).audited).any()


@pytest.mark.parametrize("bias", [1.0, 0.4])
@pytest.mark.parametrize("impossible", [0.0, 0.03])
def test_audit_intervals_cover_the_truth_even_when_probabilities_are_wrong(bias, impossible, monkeypatch):
    """``impossible``: share of the candidates that look hopeless to the linker and are links nevertheless."""
    monkeypatch.setattr(audits, "DRAWS", 1000)  # enough for the ends of an interval
    rankings, linked = made(pairs=60)
    hopeless = (rankings["score"] < 0.02).to_numpy()
    linked = linked | (hopeless & (np.random.default_rng(5).random(len(linked)) < impossible))
    believed = rankings.assign(score=rankings["score"] ** bias)
    order = Order(believed, everything(rankings), BudgetRules(judgments=900, audit=0.3))
    decided = (believed["score"] >= 0.4).to_numpy()
    truth = linked.sum(), (linked & decided).sum() / linked.sum()
    covered, values = np.zeros(3), []
    for seed in range(200):
        selection = order.select(seed)
        judged = selection.judged
        audited = Audited(linked[judged], selection.chance[judged], selection.dispersion)
        result, recall = audited.result(), audited.recall_of(decided[judged])
        values.append(result.links.value)
        assert result.found == linked[judged].sum()
        covered += (
            result.links.low <= truth[0] <= result.links.high,
            result.recall.low <= result.found / truth[0] <= result.recall.high,
            recall.low <= truth[1] <= recall.high,
        )
    assert np.mean(values) == pytest.approx(truth[0], rel=0.03)
    assert ((covered >= 0.9 * 200) & (covered <= 0.99 * 200)).all()


def test_judged_candidates_represent_those_without_a_label():
    linked, chance = np.array([True, False, True, True]), np.array([1, 1, 0.1, 0.2])
    whole = Audited(linked, chance, 5.0).result()
    assert whole.links.value == pytest.approx(1 + 10 + 5)
    assert whole.recall.value == pytest.approx(3 / 16)
    half = Audited(linked, chance, 5.0, shown=(4, 4)).result()
    assert half.links.value == pytest.approx(2 * whole.links.value)
    nothing = Audited(np.zeros(4, bool), chance, 5.0).result()
    assert nothing.links.value == 0
    assert nothing.links.high > 0
    with pytest.raises(InputError, match="audit"):
        Audited(linked, np.ones(4), 5.0)
