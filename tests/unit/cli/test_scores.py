"""Commands ``scores``, ``compare`` and ``errors``, on a run that the stages made with a scripted LLM."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from abcdlink.corpus.io import read_corpus_from
from abcdlink.domain import find_domain
from abcdlink.stages.benchmark import read_benchmark
from abcdlink.stages.intake import take_corpus
from abcdlink.stages.shortlist import errors_of
from abcdlink.store import Store, open_run

LLM = "bm25@3+llm-listwise-4"
Run = Callable[..., str]


def row(table: str, name: str) -> list[str]:
    """The cells of the row that starts with a name."""
    rows = [[cell.strip() for cell in line.strip("│ ").split("│")] for line in table.splitlines() if "│" in line]
    return next(cells for cells in rows if cells[0] == name)


def as_json(text: str) -> dict[str, Any]:
    return json.loads(text)


def test_scores_are_sorted_best_first_and_count_failures_as_wrong(run: Run, store: Store):
    table = run("scores", "r")
    results = sorted(read_benchmark(store).approaches, key=lambda one: -one.f1_of_all)
    places = [table.index(f"│ {one.approach.name} ") for one in results]
    assert places == sorted(places)
    one = next(one for one in results if one.approach.name == LLM)
    assert one.answered < one.sources
    figures = [one.precision, one.recall, one.f1, one.f1 * one.answered / one.sources, one.all_sources.f1]
    assert row(table, LLM)[1:6] == [f"{100 * value:.2f}" for value in figures]
    assert row(table, LLM)[8] == f"{one.answered} of {one.sources}"


def test_scores_report_the_outcomes_of_llm_questions(run: Run, store: Store):
    second = run("scores", "r").partition("the LLM's answers, and what they cost")[2]
    one = next(one for one in read_benchmark(store).approaches if one.approach.name == LLM)
    usage = read_benchmark(store).usage[LLM]
    cells = row(second, LLM)
    assert cells[1] == ", ".join(f"{count} {outcome.words}" for outcome, count in one.outcomes.items())
    assert "not in the form asked for" in cells[1]
    assert cells[2:5] == [f"{usage.prompt_tokens:,}", "0%", f"{usage.completion_tokens:,}"]
    assert cells[-1] == one.prompt_hash
    assert "│ bm25@3 " not in second
    assert list(one.llm_row(None).values())[2:7] == [""] * 5, "unknown costs are not shown as none"


def test_scores_as_json_are_the_benchmark(run: Run, store: Store):
    assert as_json(run("scores", "r", "--json")) == store.read_json("benchmark.json")


@pytest.mark.parametrize("trait", ["links", "position", "length"])
def test_scores_by_kind_of_source_sentence(run: Run, store: Store, trait: str):
    found = as_json(run("scores", "r", "--by", trait, "--json"))
    assert (found["run"], found["by"]) == ("r", trait)
    own = [one for one in found["rows"] if one["approach"] == LLM]
    whole = next(one for one in read_benchmark(store).approaches if one.approach.name == LLM)
    assert sum(one["sources"] for one in own) == whole.sources
    mean = sum(one["sources"] * one["f1_of_all"] for one in own) / whole.sources
    assert mean == pytest.approx(whole.f1_of_all)
    table = run("scores", "r", "--by", trait)
    assert row(table, LLM)[1:] == [f"{100 * one['f1_of_all']:.2f}" for one in own]
    assert all(f"{one['bin']} ({one['sources']} sources)" in table for one in own)


def test_compare_accepts_the_best_one_name_or_several(run: Run, store: Store):
    names = {one.approach.name: one.f1_of_all for one in read_benchmark(store).approaches}
    best = max(names, key=names.__getitem__)
    whole = as_json(run("compare", "r", "--json"))["comparisons"]
    assert {one["a"] for one in whole} == {best}
    assert {one["b"] for one in whole} == set(names) - {best}
    with_all = as_json(run("compare", "r", LLM, "--json"))["comparisons"]
    assert {one["a"] for one in with_all} == {LLM}
    assert {one["b"] for one in with_all} == set(names) - {LLM}
    (one,) = as_json(run("compare", "r", LLM, "jaccard@1", "--unit", "pair", "--json"))["comparisons"]
    assert one["difference"]["mean"] == pytest.approx(names[LLM] - names["jaccard@1"])


def test_compare_explains_its_figures(run: Run, store: Store):
    names = {one.approach.name: one.f1_of_all for one in read_benchmark(store).approaches}
    told = run("compare", "r", LLM, "jaccard@1", "--unit", "pair")
    assert f"r: F1 of {LLM}" in told
    assert row(told, "jaccard@1")[1] == f"{100 * (names[LLM] - names['jaccard@1']):+.2f}"
    assert "bootstrap over pairs" in told
    assert "corrected for 1 comparison (Holm)" in told


def test_errors_are_all_differences_from_the_gold_links(run: Run, store: Store):
    corpus = read_corpus_from(store, "synthetic")
    gold = {(pair.id, s, t) for pair in corpus.pairs for s, targets in pair.links.items() for t in targets}
    found = as_json(run("errors", "r", "bm25@1", "--json"))
    sources = sum(len(corpus.source_of(pair).sentences) for pair in corpus.pairs)
    missed = {(e["pair"], e["source"], e["target"]) for e in found["errors"] if e["kind"] == "missed link"}
    false = {(e["pair"], e["source"], e["target"]) for e in found["errors"] if e["kind"] == "false link"}
    assert missed < gold
    assert not false & gold
    assert len(false) == sources - (len(gold) - len(missed))  # one target for each source
    assert (found["sources"], found["unanswered"]) == (sources, 0)
    assert sum(found["counts"]["missed link"].values()) >= len(missed)


def test_errors_show_both_neighbourhoods_and_mark_the_sentences(run: Run, store: Store):
    told = run("errors", "r", LLM, "--most", 1)
    error = as_json(run("errors", "r", LLM, "--json"))["errors"][0]
    assert f"{error['kind']}: {error['pair']}, {error['source']} -> {error['target']}" in told
    marked = [line for line in told.splitlines() if line.startswith("> ")]
    assert [line.split()[1] for line in marked] == [error["source"], error["target"]]
    for sentence in [*error["around_source"], *error["around_target"]]:
        assert sentence["text"] in told
    assert "more than 5 sentences apart" in told
    assert "source sentences were not answered" in told
    assert told.count(" -> ") == 1


def test_errors_of_one_pattern_only(run: Run, store: Store):
    errors = errors_of(store, "bm25@3").errors
    for pattern in ("other", "scattered targets"):
        first = [f"{e.pair}, {e.source} -> {e.target}" for e in errors if pattern in e.patterns][:5]
        told = run("errors", "r", "bm25@3", "--pattern", pattern, "--most", 5)
        assert told.count(" -> ") == len(first) > 0
        assert all(error in told for error in first)
    assert " -> " not in run("errors", "r", "bm25@3", "--most", 0)


@pytest.mark.parametrize(
    "arguments", [("errors", "r", "nobody@3"), ("compare", "r", "nobody@3"), ("compare", "r", LLM, "nobody@3")]
)
def test_an_unknown_approach_is_reported_with_the_known_ones(run: Run, arguments: tuple[str, ...]):
    told = run(*arguments, fails=True)
    assert "did not score 'nobody@3'" in told
    assert LLM in told


@pytest.mark.parametrize("arguments", [("scores", "r2"), ("compare", "r2"), ("errors", "r2", LLM)])
def test_a_run_without_a_benchmark_says_which_stage_to_run(run: Run, arguments: tuple[str, ...]):
    take_corpus(open_run("r2"), "sample", find_domain("news"), first_pairs=1)
    assert "run the stage 'benchmark' first, or wait" in run(*arguments, fails=True)
