"""A benchmark in the report: charts, tables, where approaches fail, and wrong links by pattern."""

from __future__ import annotations

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Sentence
from abcdlink.evaluation.errors import ErrorKind, ErrorPattern, LinkError, Traits
from abcdlink.evaluation.results import ApproachResult
from abcdlink.evaluation.scores import AllSources
from abcdlink.folders import LocalFolder
from abcdlink.layout import BENCHMARK, SCORES, SYNTHETIC, decision_part
from abcdlink.linking.records import Approach, ApproachKind, CutoffRule, HowToScore, Scoring, Setup, llm_grid
from abcdlink.llm.records import Outcome
from abcdlink.report import render
from abcdlink.report.content import gather
from abcdlink.report.findings import examples, notable
from abcdlink.report.pictures.of_benchmark import (
    benchmark_pictures,
    cutoff_series,
    levels_without_llm,
    prompt_mode_series,
)
from abcdlink.report.pictures.of_llms import CostPoint, llm_pictures, pareto_front, rows_against_llms
from abcdlink.stages.benchmark import read_benchmark
from abcdlink.stages.decide import DecisionPart
from abcdlink.store import Store
from tests.helpers.example_benchmark import GRID, SHORTLISTED

OVER_ALL = AllSources(precision=0.5, recall=0.5, f1=0.5, false_link_rate=None, sources=9, answered=9)


def result(approach: Approach, f1: float, answered: int = 10) -> ApproachResult:
    return ApproachResult(
        approach=approach,
        precision=f1,
        recall=f1,
        f1=f1,
        sources=10,
        answered=answered,
        all_sources=OVER_ALL,
        seconds=1,
        pairs=1,
    )


def ranker(name: str, cutoff: int | CutoffRule) -> Approach:
    return Approach(kind=ApproachKind.RETRIEVER, retriever=name, cutoff=cutoff)


def words(html: str) -> str:
    """The visible text of a part of a page."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def section(page: str, name: str) -> str:
    found = re.search(rf'<section id="{name}">(.*?)</section>', page, flags=re.DOTALL)
    assert found
    return words(found[1])


def test_lines_by_prompt_mode_count_failures_as_wrong():
    grid = llm_grid(["bm25"], [5], [Setup.LISTWISE, Setup.LLM_ONLY], [1, 4])
    results = [result(one, 0.5, answered=8 if one.prompt_mode == 4 else 10) for one in grid]
    lines = {one.name: one.values for one in prompt_mode_series(results)}
    assert lines == {"listwise": {1: 0.5, 4: pytest.approx(0.4)}, "llm-only": {1: 0.5, 4: pytest.approx(0.4)}}


def test_lines_by_prompt_mode_name_the_candidates_only_if_they_differ():
    how = [HowToScore(scoring=Scoring.VOTES, samples=3, rule=rule) for rule in (None, CutoffRule.GAP)]
    grid = llm_grid(["bm25"], [5, 7], [Setup.PAIRWISE], [2], how)
    names = {one.name for one in prompt_mode_series([result(one, 0.5) for one in grid])}
    parts = {"bm25@5 pairwise, 3 votes", "bm25@7 pairwise, 3 votes"}
    assert names == parts | {f"{name} cut by gap" for name in parts}


def test_one_llm_approach_gives_no_chart_by_prompt_mode():
    llm = llm_grid(["bm25"], [5], [Setup.LISTWISE], [4])[0]
    results = [result(llm, 0.5), result(ranker("bm25", 1), 0.4)]
    assert not [title for title in benchmark_pictures(results) if "prompt mode" in title]


def test_lines_by_prompt_mode_name_the_model_if_there_are_several():
    grid = llm_grid(["bm25"], [5], [Setup.LISTWISE], [1, 4], models=["", "phi-4"])
    names = {one.name for one in prompt_mode_series([result(one, 0.5) for one in grid])}
    assert names == {"default listwise", "phi-4 listwise"}


def with_cost(approach, f1, seconds, cost=0.0, interval=None):
    return result(approach, f1).model_copy(update={"seconds": seconds, "cost": cost, "interval": interval})


@given(st.lists(st.tuples(st.floats(0.1, 99), st.floats(0, 1)), min_size=1, max_size=20))
def test_points_off_the_front_and_only_those_are_beaten_by_points_on_it(pairs):
    points = [CostPoint(str(n), *pair) for n, pair in enumerate(pairs)]
    front = pareto_front(points)
    for point in points:
        beats = [one for one in front if one.cost <= point.cost and one.f1 >= point.f1 and one != point]
        assert point in front or beats
        assert point not in front or not [one for one in beats if (one.cost, one.f1) != (point.cost, point.f1)]


@pytest.mark.usefixtures("drawing")
def test_quality_is_plotted_against_seconds_and_for_llms_against_money():
    llm = llm_grid(["bm25"], [5], [Setup.LISTWISE], [4], models=["small", "large"])
    results = [with_cost(ranker("bm25", 1), 0.4, 1), with_cost(llm[0], 0.5, 20, 0.5), with_cost(llm[1], 0.7, 90, 4.0)]
    pictures = llm_pictures(results)
    seconds, money = (
        re.search(r'aria-label="([^"]+)"', pictures[f"F1 against {of}"])[1] for of in ("seconds", "money")
    )
    assert ">10,000<" in pictures["F1 against seconds"].replace(" ", "")
    assert "$" not in "".join(pictures.values())
    assert "bm25@1: F1 0.40" in seconds
    assert "0 others" in seconds
    assert "bm25@1" not in money.replace("bm25@5", "")
    pairs = results[1].pairs
    assert f"bm25@5+small-listwise-4: F1 0.50 for {1000 * 0.5 / pairs:.3g}" in money


def test_retrievers_are_listed_above_the_llms_that_use_their_candidates():
    grid = llm_grid(["bm25", "jaccard"], [5], [Setup.LISTWISE], [1, 4])
    results = [with_cost(one, 0.1 * n, 1, interval=(0.1 * n - 0.1, 0.1 * n + 0.1)) for n, one in enumerate(grid, 2)]
    results += [with_cost(ranker("bm25", k), 0.3 + k / 100, 1, interval=(0.2, 0.4)) for k in (1, 3)]
    rows = rows_against_llms(results)
    assert [(row.name, row.base) for row in rows] == [
        ("bm25@3", True),
        ("bm25@5+llm-listwise-4", False),
        ("bm25@5+llm-listwise-1", False),
        ("jaccard@5+llm-listwise-4", False),
        ("jaccard@5+llm-listwise-1", False),
    ]
    label = re.search(r'aria-label="([^"]+)"', benchmark_pictures(results)["Retriever against LLM"])[1]
    assert "bm25@3: 0.33 (0.20 to 0.40)" in label


def test_levels_show_the_best_fixed_cutoff_of_the_candidate_source():
    ranked = [
        result(ranker("bm25", CutoffRule.GAP), 0.9),
        result(ranker("hybrid", 3), 0.8),
        result(ranker("bm25", 3), 0.6),
        result(ranker("bm25", 1), 0.4),
    ]
    on_bm25 = [result(one, 0.5) for one in llm_grid(["bm25"], [5], [Setup.LISTWISE], [4])]
    alone = [result(one, 0.5) for one in llm_grid([], [], [Setup.LLM_ONLY], [4])]
    assert levels_without_llm([*ranked, *on_bm25, *alone]) == [("bm25@3, no LLM", 0.6)]
    assert levels_without_llm([*ranked, *alone]) == [("hybrid@3, no LLM", 0.8)]
    assert levels_without_llm(alone) == []


def test_only_the_best_llm_on_the_same_candidates_is_starred_by_cutoff():
    grid = llm_grid(["bm25"], [5, 7], [Setup.LISTWISE], [1, 2])
    order = sorted((result(one, 0.1 * place) for place, one in enumerate(grid, 1)), key=lambda one: -one.f1)
    stars = [(one.name, dict(one.values)) for one in cutoff_series(order, "f1_of_all") if one.alone]
    assert stars == [("bm25@7+llm-listwise-2", {7: 0.4}), ("bm25@5+llm-listwise-2", {5: pytest.approx(0.3)})]


def test_charts_show_the_figures_of_the_benchmark(finished: Store, complete: str):
    by_name = {one.approach.name: one for one in read_benchmark(finished).approaches}
    labels = dict(re.findall(r'aria-label="((?:F1|Recall) by [a-z ]+)\. ([^"]+)"', complete))
    assert f"hybrid: {by_name['hybrid@1'].f1:.2f} at 1" in labels["F1 by cutoff"]
    assert f"bm25: {by_name['bm25@1'].recall:.2f} at 1" in labels["Recall by cutoff"]
    modes = ", ".join(f"{by_name[f'hybrid@7+llm-pairwise-{n}'].f1_of_all:.2f} at {n}" for n in (1, 2, 3, 4))
    assert f"pairwise: {modes}" in labels["F1 by prompt mode"]
    best = max(by_name[f"hybrid@{k}"].f1 for k in (1, 3, 5, 7, 10, 20))
    assert f"no LLM: {best:.2f}" in labels["F1 by prompt mode"]


def test_each_llm_approach_has_its_outcomes_tokens_cost_and_prompts(finished: Store, complete: str):
    name = "hybrid@7+llm-listwise-4"
    row = next(row for row in re.findall(r"<tr>.*?</tr>", complete, flags=re.DOTALL) if f"<td>{name}<br>" in row)
    parts = [finished.read_text(decision_part(SYNTHETIC, name, part)) for part in (0, 1)]
    decisions = [one for part in parts for one in DecisionPart.model_validate_json(part).decisions]
    for outcome in (Outcome.OK, Outcome.MISSING_IDS, Outcome.TRUNCATED, Outcome.FAILED):
        count = sum(one.outcome is outcome for one in decisions)
        assert (f"{count} {outcome.words}" in words(row)) == (count > 0)
    assert "missing_ids" not in complete
    asked = len(decisions)
    assert f"{412 * asked:,} prompt {330 * asked:,} cached (80 %) {9 * asked} answer" in words(row)
    assert words(row).endswith(f"{1.3 * asked:.1f} {0.00004 * asked:.4g}")
    assert "prompts 0f1e2d3c4b5a" in words(row)


def test_approaches_by_rule_do_not_count_their_questions_again(finished: Store, complete: str):
    votes = "hybrid@7+llm-listwise-4-votes5"
    usage = read_benchmark(finished).usage
    assert set(usage) == {one.asked.name for one in GRID}
    content = gather(finished)
    with_rule = next(one for one in content.results if one.approach.name == f"{votes}@threshold")
    assert content.usage_of(with_rule) == usage[votes]
    costs = section(complete, "costs")
    assert f"{votes}, synthetic pairs" in costs
    assert f"{votes}@threshold, synthetic pairs" not in costs


def test_comparisons_with_an_llm_show_what_the_llm_adds(finished: Store, complete: str):
    benchmark = read_benchmark(finished)
    f1 = {one.approach.name: one.f1_of_all for one in benchmark.approaches}
    shown = section(complete, "benchmark").partition("With an LLM, against its retriever")[2]
    base = benchmark.llm_against_retriever[0].a
    gained = 100 * (f1["hybrid@7+llm-pairwise-4"] - f1[base])
    assert f"Approach, minus {base}" in shown
    assert re.search(rf"hybrid@7\+llm-pairwise-4 {re.escape(f'{gained:+.2f}')} ", shown)


def test_low_scores_are_collapsed_except_for_shortlisted_approaches(complete: str):
    first, folded = re.findall(r'<table class="dense">.*?</table>', complete, flags=re.DOTALL)[:2]
    assert all(f"<td>{approach.name} " in first for approach in SHORTLISTED)
    assert "shortlist" not in folded
    assert first.count("<tr") + folded.count("<tr") - 2 == len(GRID) + 3 * 7


def test_f1_by_kind_of_source_sentence_matches_the_table(finished: Store, complete: str):
    scores = finished.read_table(SCORES)
    own = scores[(scores["approach"] == "hybrid@3") & (scores["source"] == "4")]
    shown = section(complete, "benchmark").partition("By number of gold links ")[2]
    # Of the three sources with links in each pair, only sentence 4 has exactly one.
    assert shown.startswith(f"Approach 1 link {len(own)} 2 links 6 3 or more 6 hybrid@3 {100 * own['f1'].mean():.1f} %")
    assert "By position in its document Approach first third 6 middle third 6 last third 6" in shown
    assert "up to 8 sentences 18" in shown


def test_average_f1_is_the_mean_over_the_cutoffs(finished: Store, complete: str):
    f1 = {one.approach.name: one.f1 for one in read_benchmark(finished).approaches}
    mean = sum(f1[f"bm25@{k}"] for k in (1, 3, 5, 7, 10, 20)) / 6
    shown = section(complete, "benchmark").partition("Average F1 over the cutoffs 1, 3, 5, 7, 10, 20")[2]
    assert f"bm25 {100 * mean:.1f} %" in shown


def test_wrong_links_are_counted_and_shown_with_their_neighbourhoods(finished: Store, complete: str):
    corpus = read_corpus_from(finished, SYNTHETIC)
    links = {(pair.id, source, target) for pair in corpus.pairs for source, ts in pair.links.items() for target in ts}
    scored = next(one for one in read_benchmark(finished).approaches if one.approach.name == "hybrid@3")
    hits = round(36 * scored.all_sources.recall)
    sources = sum(len(corpus.source_of(pair).sentences) for pair in corpus.pairs)
    shown = section(complete, "errors")
    assert len(links) == 36
    assert f"all errors on {sources} source sentences that were answered {3 * sources - hits} {36 - hits}" in shown
    for pattern in ErrorPattern:
        assert f"{pattern.value} {pattern.rule}" in shown
    assert "gold link" in shown
    assert "were not and are in no count" in shown
    assert shown.count("Source sentence ") == shown.count("Target sentence ") <= 20


def copy_of(store: Store, folder) -> Store:
    copy = Store(LocalFolder(folder / "copy"), store.key)
    for name in store.folder.names():
        copy.folder.write(name, store.folder.read(name))
    return copy


def test_a_partial_run_omits_what_it_lacks_with_the_reason(finished: Store, tmp_path):
    store = copy_of(finished, tmp_path)
    store.folder.remove(SCORES)
    store.folder.remove(decision_part(SYNTHETIC, "hybrid@7+llm-listwise-4", 1))
    page = render(gather(store))
    assert "Not computed: run 'harbour' has no scores.parquet yet" in section(page, "benchmark")
    errors = section(page, "errors")
    assert "Not computed: a file is missing: " in errors
    assert "part-00001.json" in errors
    assert "all errors on 48 source sentences" in errors  # of the retriever, whose rankings exist


def test_a_shortlisted_approach_of_another_benchmark_is_reported(finished: Store, tmp_path):
    store = copy_of(finished, tmp_path)
    kept = store.read_json(BENCHMARK)
    kept["approaches"] = [one for one in kept["approaches"] if one["approach"]["cutoff"] != 3]
    store.write_json(BENCHMARK, kept)
    assert "the benchmark of run 'harbour' did not score 'hybrid@3'" in section(render(gather(store)), "errors")


def test_notable_approaches_are_the_shortlisted_and_the_best_of_each_kind():
    llm = llm_grid(["bm25"], [5], [Setup.LISTWISE], [1, 4])
    order = [result(llm[0], 0.9), result(llm[1], 0.8), result(ranker("bm25", 3), 0.7), result(ranker("bm25", 1), 0.6)]
    shortlisted = ["bm25@1", "hybrid@3", "bm25@5+llm-listwise-1"]
    assert notable(order, shortlisted) == ["bm25@1", "bm25@5+llm-listwise-1", "bm25@3"]


def test_examples_take_every_pattern_and_kind_in_turn():
    easy = Traits(gap=0, content_words=9, alikeness=None, distractors=0)
    far = Traits(gap=9, content_words=9, alikeness=None, distractors=0)

    def error(source: int, target: int, kind: ErrorKind, traits: Traits) -> LinkError:
        around = (Sentence(id="0", text="text"),)
        where = {"pair": "p", "source": str(source), "target": str(target), "gold": ()}
        return LinkError(kind=kind, **where, around_source=around, around_target=around, traits=traits)

    false = [error(source, target, ErrorKind.FALSE_LINK, easy) for source in range(20) for target in range(3)]
    rare = [error(30, 1, ErrorKind.MISSED_LINK, easy), error(31, 1, ErrorKind.FALSE_LINK, far)]
    chosen = examples([*false, *rare], 5)
    assert len(chosen) == 5
    assert {one.source for one in chosen} >= {"30", "31"}
    assert len({one.source for one in chosen}) == 5
    assert examples([], 5) == []
