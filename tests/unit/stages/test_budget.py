"""Batches by budget: each pair once, the linker learns in between, gains on unseen pairs, an audit."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest

from abcdlink.candidates.pools import Next, PoolMode
from abcdlink.corpus.records import Sentence
from abcdlink.domain import Domain, find_domain
from abcdlink.errors import InputError
from abcdlink.exhaustive import EXHAUSTIVE, NO_BATCH, gold_of
from abcdlink.judgments import Annotator, LabelRule, Pool
from abcdlink.layout import ANNOTATORS, EXHAUSTIVE_JUDGMENTS, JUDGMENTS, NATURAL, POOLS, batch_file, model_file
from abcdlink.linking.decisions import top_k
from abcdlink.report import render
from abcdlink.report.content import gather
from abcdlink.stages.batch_preview import preview_batch, take_review
from abcdlink.stages.budget import BudgetPlan, choices_of, read_choice
from abcdlink.stages.candidates import (
    NothingToAnnotateError,
    PoolPlan,
    choose_candidates,
    plan_by_budget,
    rank_natural,
    read_counts,
    run_candidates,
)
from abcdlink.stages.exhaustive import make_sample, measure_recall
from abcdlink.stages.gains import measure_gains
from abcdlink.stages.rank import read_rankings
from abcdlink.stages.shortlist import read_shortlist
from abcdlink.store import Store, open_run
from tests.helpers.builders import judged, judgment
from tests.helpers.homes import other_home
from tests.helpers.labels import PROBABLE as LINKER
from tests.helpers.labels import fill_for_budget, strict

PLAN = PoolPlan(mode=PoolMode.BUDGET, batches=3, budget=BudgetPlan(judgments=150, audit=0.2))
AUDITED = PoolPlan(mode=PoolMode.BUDGET, batches=1, budget=BudgetPlan(judgments=350, audit=0.75))
Gold = Mapping[str, Mapping[str, Sequence[str]]]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a run with a fitted linker; on its natural pairs, half of the likely links are not links."""
    with other_home(tmp_path_factory.mktemp("filled")) as home:
        run = open_run("r")
        fill_for_budget(run, find_domain("news"), strict(gold=False))
        run.note("annotation", {"overlap": 2})
        rank_natural(run, read_shortlist(run).approaches)
    return home


@pytest.fixture(scope="module")
def begun(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of the same run once its first batch is chosen."""
    with other_home(tmp_path_factory.mktemp("begun"), filled) as home:
        run_candidates(open_run("r"), find_domain("news"), PLAN)
    return home


@pytest.fixture(scope="module")
def second(begun: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of the same run once its first batch is judged and its second chosen."""
    with other_home(tmp_path_factory.mktemp("second"), begun) as home:
        judge(open_run("r"), 1)
        choose_candidates(open_run("r"), find_domain("news"), PLAN, 2)
    return home


@pytest.fixture
def store(filled: Path, isolated_home: Path) -> Store:
    """A run before its candidates are chosen."""
    shutil.copytree(filled, isolated_home)
    return open_run("r")


@pytest.fixture
def at_second(second: Path, isolated_home: Path) -> Store:
    """A run at its second batch."""
    shutil.copytree(second, isolated_home)
    return open_run("r")


def judge(store: Store, batch: int, seconds: float = 30.0, gold: Gold = MappingProxyType({})) -> None:
    said: dict[str, Mapping[str, Sequence[str]]] = {pair.id: pair.links or {} for pair in strict().pairs}
    said |= gold
    judgments = [
        judged(pool, one, who, one.target in said[pool.pair].get(pool.source, ()), seconds=seconds)
        for pool in store.read_records(POOLS, Pool)
        if pool.batch == batch
        for one in pool.candidates
        for who in (1, 2)
    ]
    store.write_records(batch_file(batch, JUDGMENTS), judgments)
    people = [Annotator(annotator=f"annotator-{n}", account=f"{n}@x.org", simulated=False) for n in (1, 2)]
    store.write_records(ANNOTATORS, people)


def test_batches_share_pairs_and_budget_and_the_linker_learns_in_between(at_second: Store, news: Domain) -> None:
    store = at_second
    assert plan_by_budget(store) == PLAN
    judge(store, 2)
    assert set(choose_candidates(store, news, PLAN, 3).batches) == {1, 2, 3}
    judge(store, 3)
    choices = choices_of(store)
    pairs = [pair for choice in choices for pair in choice.pairs]
    assert sorted(pairs) == sorted(pair.id for pair in strict().pairs)
    assert 125 <= sum(choice.judgments for choice in choices) <= 160
    assert [choice.linker for choice in choices] == [LINKER, f"{LINKER}@after-1", f"{LINKER}@after-2"]
    assert [choice.zero_shot for choice in choices] == [True, False, False]
    pools = store.read_records(POOLS, Pool)
    assert len({(pool.pair, pool.source) for pool in pools}) == len(pools)
    assert {candidate.method for pool in pools for candidate in pool.candidates} == {"probable", "random"}

    gains = measure_gains(store)
    assert gains is not None
    learned = [(gain.calibration.error, gain.without_learning.error) for gain in gains.batches[1:]]
    assert all(after < before / 2 for after, before in learned)
    assert gains.batches[0].calibration == gains.batches[0].without_learning
    gold = sum(len(targets) for pair in strict().pairs for targets in (pair.links or {}).values())
    found = sum(gain.links for gain in gains.batches)
    assert gains.audit is not None
    assert gains.audit.links.low <= gold <= gains.audit.links.high
    assert gains.audit.found == found
    tasks = len({(pool.pair, pool.source) for pool in pools if pool.batch == 1})
    assert gains.batches[0].hours == pytest.approx(2 * tasks * 30 / 3600)


def test_the_audit_agrees_with_exhaustive_pages(store: Store, news: Domain) -> None:
    """People link sentences that have no word in common too, which nothing proposes and only chance shows."""
    unseen = {pair.id: {**(pair.links or {}), "s3": ("t4",)} for pair in strict().pairs[::3]}
    run_candidates(store, news, AUDITED)
    judge(store, 1, gold=unseen)
    gains = measure_gains(store)
    assert gains is not None
    assert gains.audit is not None

    sample = make_sample(store, news, overlap=2, seed=1, share=1.0)
    everything = [
        judgment(
            (one.pair, one.source, target.id),
            who,
            target.id in links_of(one.pair, unseen).get(one.source, ()),
            batch=NO_BATCH,
            method=EXHAUSTIVE,
        )
        for one in sample.sources
        for target in made_of(one.pair)
        for who in (1, 2)
    ]
    store.write_records(EXHAUSTIVE_JUDGMENTS, everything)
    truth = measure_recall(store, news)
    assert gains.audit.links.low <= truth.links <= gains.audit.links.high
    assert gains.audit.recall.low <= gains.audit.found / truth.links <= gains.audit.recall.high
    assert gains.audit.found < 0.95 * truth.links

    links = gold_of([one.at for one in sample.sources], everything, LabelRule.BOTH, 2).links
    rankings = read_rankings(store, NATURAL, "bm25-stemmed").table
    estimated = {one.approach: one for one in gains.approaches}
    assert f"{LINKER}@1" in estimated
    for k in (1, 3):
        found = top_k(rankings, k)
        hits = sum(len(set(found[pair][source]) & targets) for (pair, source), targets in links.items())
        one = estimated[f"bm25-stemmed@{k}"]
        assert one.candidates == sum(len(targets) for of in found.values() for targets in of.values())
        assert one.recall.low <= hits / truth.links <= one.recall.high
        assert one.recall.high < 1


def links_of(pair: str, more: Gold) -> Mapping[str, Sequence[str]]:
    return more.get(pair) or next(one.links or {} for one in strict().pairs if one.id == pair)


def made_of(pair: str) -> Sequence[Sentence]:
    return strict().target_of(next(one for one in strict().pairs if one.id == pair)).sentences


def test_hours_are_based_on_the_first_batch(store: Store, news: Domain) -> None:
    budget = BudgetPlan(hours=0.5, seconds=12.0, audit=0.2)  # 150 candidates before anyone has judged
    plan = PLAN.model_copy(update={"budget": budget})
    run_candidates(store, news, plan)
    judge(store, 1, seconds=24.0)
    choose_candidates(store, news, plan, 2)
    first, second = choices_of(store)
    assert first.seconds is None
    assert first.forecast.chosen.judgments == pytest.approx(150, abs=3)
    tasks = {pool.key: len(pool.candidates) for pool in store.read_records(POOLS, Pool) if pool.batch == 1}
    measured = 24.0 * len(tasks) / sum(tasks.values())
    assert second.seconds == pytest.approx(measured)
    left = 1800 - sum(tasks.values()) * measured
    assert second.forecast.chosen.judgments == pytest.approx(left / measured, abs=3)
    measure_gains(store)
    assert f"at {measured:.1f} measured seconds each" in render(gather(store))


def test_the_report_shows_expected_and_actual_links(begun: Path, at_second: Store) -> None:
    with other_home(begun):
        assert set(read_counts(open_run("r")).batches) == {1}
        assert measure_gains(open_run("r")) is None
        before = render(gather(open_run("r")))
    assert "These probabilities are not calibrated on these documents yet" in before
    assert "Links against judgments. Found: nobody has judged yet." in before
    gains = measure_gains(at_second)
    assert gains is not None
    assert gains.another_hour is not None
    page = render(gather(at_second))
    assert "These probabilities are not calibrated" not in page
    assert f"{gains.batches[0].links} links after {gains.batches[0].judged} judgments" in page
    assert f"Another hour of one annotator is expected to find {gains.another_hour:.0f} links." in page
    assert str(gains.audit.recall) in page if gains.audit else False
    assert "has learned from" in page
    assert "What other approaches would have found" in page
    assert "<td>bm25-stemmed@3</td>" in page


def test_an_interrupted_stage_makes_the_same_choice_again(at_second: Store, news: Domain) -> None:
    store = at_second
    pools, model = store.folder.read(POOLS), store.folder.read(model_file(f"{LINKER}@after-1"))
    store.folder.remove(batch_file(2, "choice.json"))
    choose_candidates(store, news, PLAN, 2)
    assert store.folder.read(POOLS) == pools
    assert store.folder.read(model_file(f"{LINKER}@after-1")) == model
    assert run_candidates(store, news, PLAN).batches.keys() == {1, 2}


@pytest.mark.parametrize("following", Next)
def test_which_pairs_come_first(store: Store, news: Domain, following: Next) -> None:
    plan = PLAN.model_copy(update={"budget": PLAN.budget.model_copy(update={"next": following})})
    run_candidates(store, news, plan)
    first = choices_of(store)[0]
    assert len(first.pairs) == 10
    if following is Next.LINKS:
        share = first.expected / first.forecast.chosen.links.value
        assert share > 1 / 3


def test_an_exhausted_budget_ends_the_batches(store: Store, news: Domain) -> None:
    plan = PLAN.model_copy(update={"budget": BudgetPlan(links=20)})
    run_candidates(store, news, plan)
    judge(store, 1)
    left = plan.budget.after(0, 19)
    assert left is not None
    assert left.links == 1
    assert plan.budget.after(0, 20) is None
    assert BudgetPlan(hours=1, seconds=36).after(100, 0) is None
    enough = plan.model_copy(update={"budget": BudgetPlan(links=1)})
    with pytest.raises(NothingToAnnotateError, match="the budget is used up"):
        choose_candidates(store, news, enough, 2)
    with pytest.raises(InputError, match="no budget is given"):
        PoolPlan(mode=PoolMode.BUDGET)


def test_too_few_judgments_leave_the_linker_unchanged(store: Store, news: Domain) -> None:
    plan = PLAN.model_copy(update={"batches": 10, "budget": BudgetPlan(judgments=100, audit=0.1)})
    run_candidates(store, news, plan)
    judge(store, 1)
    choose_candidates(store, news, plan, 2)
    second = choices_of(store)[1]
    assert second.linker == LINKER
    assert "too few to learn from" in second.unchanged
    assert second.zero_shot
    assert np.isfinite(second.expected)


def test_a_batch_by_budget_is_chosen_again_from_what_the_filters_leave(store: Store, news: Domain) -> None:
    plan = PoolPlan(mode=PoolMode.BUDGET, batches=2, budget=BudgetPlan(judgments=60, audit=0.2))
    run_candidates(store, news, plan)
    before = store.folder.read(POOLS)
    refused = take_review(store, news, 1, {"min_words": 100}, go=True)
    assert (refused.go, store.folder.read(POOLS)) == (False, before)
    take_review(store, news, 1, {"exclude": ["river"]}, go=True)
    found = preview_batch(store, news, 1, 2)
    assert found.left_out["matches the excluded pattern river"] > 0
    assert read_choice(store, 1).judgments == found.candidates
    assert store.folder.read(POOLS) != before
