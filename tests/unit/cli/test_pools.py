"""From a benchmark to pools: the commands ``shortlist`` and ``candidates``, the form, and the modes of a run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from abcdlink.candidates.pools import PoolMode
from abcdlink.domain import find_domain
from abcdlink.errors import InputError
from abcdlink.evaluation import beside
from abcdlink.evaluation.shortlist import ShortlistRule
from abcdlink.export import ExportFormat, export_dataset
from abcdlink.interannotator.measures import agreement
from abcdlink.judgment_file import read_judgment_file
from abcdlink.judgments import Pool
from abcdlink.layout import JUDGMENTS, NATURAL, POOLS, SYNTHETIC
from abcdlink.linking.records import ApproachKind
from abcdlink.report import render
from abcdlink.report.content import gather
from abcdlink.stages.candidates import NothingToAnnotateError, PoolPlan, run_candidates
from abcdlink.stages.rank import read_rankings
from abcdlink.stages.shortlist import run_shortlist
from abcdlink.store import Store, open_run
from flows.parameters import AnnotationParameters
from tests.helpers.builders import judgment
from tests.helpers.fake_llm import FakeLLM
from tests.helpers.homes import configure

LLM = "bm25@3+llm-listwise-4"
Run = Callable[..., str]
Shown = dict[tuple[str, str], dict[str, str]]


@pytest.fixture
def store(store: Store, benchmarked: Path, isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The benchmarked run, copied for each test."""
    shutil.copytree(benchmarked, isolated_home, dirs_exist_ok=True)
    configure(monkeypatch, home=isolated_home)
    return open_run(store.key)


def shown(store: Store) -> Shown:
    """(pair, source) -> target -> method, in the order shown."""
    return {
        (pool.pair, pool.source): {c.target: c.method for c in pool.candidates}
        for pool in store.read_records(POOLS, Pool)
    }


def make(store: Store, rule: ShortlistRule, plan: PoolPlan) -> Shown:
    run_shortlist(store, rule)
    run_candidates(store, find_domain("news"), plan)
    return shown(store)


def top(store: Store, retriever: str, k: int, corpus: str = NATURAL) -> dict[Any, set[str]]:
    """Return (pair, source) -> the top targets of a retriever."""
    table = read_rankings(store, corpus, retriever).table
    best = table[table["rank"] <= k]
    return {at: set(map(str, group["target"])) for at, group in best.groupby(["pair", "source"], observed=True)}


def test_pools_of_two_retrievers_use_their_names_as_methods(store: Store) -> None:
    pools = make(store, ShortlistRule(approaches=("bm25@3", "jaccard@3")), PoolPlan())
    first, second = top(store, "bm25", 2), top(store, "jaccard", 2)
    assert {m for of_one in pools.values() for m in of_one.values()} == {"bm25@3", "jaccard@3", "both", "random"}
    for at, methods in pools.items():
        assert {t for t, m in methods.items() if m in ("bm25@3", "both")} == first[at]
        assert {t for t, m in methods.items() if m in ("jaccard@3", "both")} == second[at]
        # The news domain shows 2 + 2 + 1.
        assert sum(m == "random" for m in methods.values()) == 1
    page = render(gather(store))
    for name in ("bm25@3", "jaccard@3"):
        assert f"<b>{name}</b> (labelled <i>{name}</i>)" in page


def test_steps_after_annotation_handle_two_approaches_of_one_kind(store: Store) -> None:
    pools = make(store, ShortlistRule(approaches=("bm25@3", "jaccard@3")), PoolPlan())
    judgments = [
        judgment((pair, source, target), n, link=True, method=method)
        for (pair, source), methods in pools.items()
        for target, method in methods.items()
        for n in (1, 2)
    ]
    store.write_records(JUDGMENTS, judgments)
    methods = list(agreement(judgments).acceptance)
    assert (set(methods[:2]), methods[2:]) == ({"bm25@3", "jaccard@3"}, ["both", "random"])
    card = store.read_text(next(f for f in export_dataset(store, ExportFormat.HUGGINGFACE).files if f.endswith(".md")))
    assert "| bm25@3 | bm25@3 |" in card
    (table,) = export_dataset(store, ExportFormat.CSV).files
    assert {j.method for j in list(read_judgment_file(store.where(table)).judgments)} == set(methods)


def test_a_single_approach_needs_nothing_from_the_other(store: Store, llm: FakeLLM) -> None:
    asked = len(llm.questions)
    pools = make(store, ShortlistRule(approaches=("bm25@3", LLM)), PoolPlan(mode=PoolMode.SINGLE))
    assert len(llm.questions) == asked
    # The whole list up to its cutoff, though the domain compares two per approach; no distractors.
    best = top(store, "bm25", 3)
    assert {at: set(methods) for at, methods in pools.items()} == {at: best[at] for at in pools}
    assert {m for methods in pools.values() for m in methods.values()} == {"retriever"}


def test_intersection_and_union_are_those_of_the_top_lists(store: Store, isolated_home: Path) -> None:
    rule = ShortlistRule(approaches=("bm25@3", "jaccard@3"))
    shutil.copytree(isolated_home / "runs" / "r", isolated_home / "runs" / "u")
    both = make(store, rule, PoolPlan(mode=PoolMode.INTERSECTION))
    either = make(open_run("u"), rule, PoolPlan(mode=PoolMode.UNION, distractors=1))
    first, second = top(store, "bm25", 3), top(store, "jaccard", 3)
    assert {at: set(methods) for at, methods in both.items()} == {
        at: first[at] & second[at] for at in either if first[at] & second[at]
    }
    for at, methods in either.items():
        assert {t for t, m in methods.items() if m != "random"} == first[at] | second[at]
        assert sum(m == "random" for m in methods.values()) == 1


def test_two_retrievers_are_compared_by_what_they_decided_in_the_benchmark(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside, "MOST_IN_COMMON", 0)
    chosen = run_shortlist(store, ShortlistRule(kinds=(ApproachKind.RETRIEVER, ApproachKind.RETRIEVER)))
    assert {one.retriever for one in chosen.approaches} == {"bm25", "jaccard"}
    k = chosen.first.k
    first, second = (
        {(at, target) for at, targets in top(store, one.retriever, k, SYNTHETIC).items() for target in targets}
        for one in chosen.approaches
    )
    share = f"{chosen.second.retriever}@{k} {len(first & second) / len(first | second):.0%}."
    (said,) = (reason for reason in chosen.reasons if reason.startswith("All others decide nearly the same as"))
    assert share in said


def test_one_shortlisted_approach_is_enough_only_for_mode_single(store: Store) -> None:
    run_shortlist(store, ShortlistRule(approaches=("jaccard@1",)))
    with pytest.raises(InputError, match="needs two approaches, and the shortlist has only jaccard@1"):
        run_candidates(store, find_domain("news"), PoolPlan())
    counts = run_candidates(store, find_domain("news"), PoolPlan(mode=PoolMode.SINGLE))
    assert (counts.mode, set(counts.methods)) == ("single", {"retriever"})


def test_a_run_keeps_its_mode(store: Store) -> None:
    make(store, ShortlistRule(approaches=("bm25@3", "jaccard@3")), PoolPlan(mode=PoolMode.UNION))
    before = store.folder.read(POOLS)
    with pytest.raises(InputError, match="mode='union' \\(now 'comparison'\\)"):
        run_candidates(store, find_domain("news"), PoolPlan())
    assert store.folder.read(POOLS) == before


def test_a_failed_choice_does_not_bind_the_run(store: Store) -> None:
    with pytest.raises(InputError, match="has no approach 'bm25@4'"):
        run_shortlist(store, ShortlistRule(approaches=("bm25@4",)))
    run_shortlist(store, ShortlistRule(approaches=("bm25@3", "jaccard@3")))
    with pytest.raises(NothingToAnnotateError, match="4 pairs for 20 batches"):
        run_candidates(store, find_domain("news"), PoolPlan(batches=20))
    assert run_candidates(store, find_domain("news"), PoolPlan(batches=4)).pools


def test_the_commands_choose_two_of_one_kind_and_count_omissions(run: Run, store: Store) -> None:
    said = run("shortlist", "r", "--kinds", "retriever,retriever")
    names = [line.split(" (method ")[0] for line in said.splitlines() if " (method " in line]
    assert [name.split("@")[0] for name in sorted(names)] == ["bm25", "jaccard"]
    counts: dict[str, Any] = json.loads(run("candidates", "r", "--mode", "union", "--distractors", 2, "--json"))
    assert counts["mode"] == "union"
    assert set(counts["methods"]) <= {*names, "both", "random"}
    assert counts["methods"]["random"] == 2 * counts["pools"]
    assert counts["candidates"] == sum(len(methods) for methods in shown(store).values())
    table = run("candidates", "r", "--mode", "union", "--distractors", 2)
    assert f"{counts['candidates']} candidates in {counts['pools']} pools (union)" in " ".join(table.split())


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--kinds", "retriever,oracle"), "there is no kind of approach 'oracle'"),
        (("--by", "day"), "there is no unit 'day'"),
    ],
)
def test_an_unknown_kind_or_unit_is_one_clear_error(run: Run, options: tuple[str, ...], problem: str) -> None:
    assert problem in " ".join(run("shortlist", "r", *options, fails=True).split())


def test_the_annotation_form_makes_the_librarys_records() -> None:
    assert AnnotationParameters().pools() == PoolPlan()
    changed = AnnotationParameters.model_validate({"mode": "single", "distractors": 0, "batches": 3, "seed": 5})
    assert changed.pools() == PoolPlan(mode=PoolMode.SINGLE, distractors=0, batches=3, seed=5)
