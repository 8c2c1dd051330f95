"""Exhaustive judging: a blind sample of source sentences, gold links by rule, recall of approaches."""

from __future__ import annotations

from collections import Counter

import pytest

from abcdlink.corpus.records import Corpus, Pair
from abcdlink.domain import SourceFilter
from abcdlink.errors import InputError
from abcdlink.exhaustive import ExhaustiveGold, Over, View, gold_of, lists_of, measure, random_lists
from abcdlink.judgments import Judgment, LabelRule
from abcdlink.linking.records import Decision
from abcdlink.llm.records import Outcome
from abcdlink.source_sample import sample_sources
from tests.helpers.builders import document, judgment

RULES = SourceFilter(min_words=3, exclude=("^Figure",))


def corpus_of_sizes(*sizes: int) -> Corpus:
    """Pairs with this many usable source sentences and two that the filters leave out."""
    documents, pairs = {}, []
    for number, size in enumerate(sizes):
        texts = ["Too short", *(f"Usable sentence number {n}" for n in range(size)), "Figure 3 shows a bridge"]
        for side in ("a", "b"):
            documents[f"{number}{side}"] = document(f"{number}{side}", texts)
        pairs.append(Pair(id=f"p{number}", source=f"{number}a", target=f"{number}b"))
    return Corpus(name="natural", documents=documents, pairs=pairs)


def judged(source: str, target: str, annotator: int, *, link: bool) -> Judgment:
    return judgment(("p", source, target), f"a{annotator}", link, batch=0, method="exhaustive")


def test_a_sample_is_stratified_by_pair_and_leaves_filtered_sources_out():
    sample = sample_sources(corpus_of_sizes(20, 10, 5, 5), RULES, "run", 13, share=0.2)
    assert Counter(one.pair for one in sample.sources) == {"p0": 4, "p1": 2, "p2": 1, "p3": 1}
    assert sample.population == 40
    assert sample.filtered == {"fewer than 3 words": 4, "matches the excluded pattern ^Figure": 4}
    # The filters leave out 0 and the last.
    assert not {(one.pair, one.source) for one in sample.sources} & {("p0", "0"), ("p0", "21"), ("p3", "6")}


def test_the_sample_depends_only_on_the_seed():
    first, same, other = (sample_sources(corpus_of_sizes(30, 30), RULES, "run", seed, number=9) for seed in (1, 1, 2))
    assert first == same
    assert {one.at for one in first.sources} != {one.at for one in other.sources}


def test_every_source_is_equally_likely():
    draws = 900
    seen = Counter(
        one.at
        for seed in range(draws)
        for one in sample_sources(corpus_of_sizes(1, 2, 7), RULES, "run", seed, number=3).sources
    )
    assert len(seen) == 10
    # Expected 270 of 900 each; five standard deviations of a binomial are 69.
    assert all(abs(count - 0.3 * draws) < 69 for count in seen.values())


def test_the_sample_does_not_look_at_gold_links():
    plain = corpus_of_sizes(12, 12)
    linked = plain.model_copy(update={"pairs": [p.model_copy(update={"links": {"1": ("2",)}}) for p in plain.pairs]})
    assert sample_sources(plain, RULES, "run", 5, share=0.3) == sample_sources(linked, RULES, "run", 5, share=0.3)


def test_task_keys_are_opaque_and_differ_between_runs():
    one, two = (sample_sources(corpus_of_sizes(9), RULES, run, 5, number=9) for run in ("run", "other"))
    keys = [source.key for sample in (one, two) for source in sample.sources]
    assert len(set(keys)) == 18
    assert all(len(key) == 16 and int(key, 16) >= 0 for key in keys)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "either a share or a number"),
        ({"share": 0.1, "number": 2}, "either a share or a number"),
        ({"share": 0}, "share of 0"),
        ({"share": 1.1}, "share of 1.1"),
        ({"number": 0}, "0 source sentences"),
        ({"number": 1, "links": 0}, "0 links cannot"),
    ],
)
def test_an_impossible_size_is_refused(given: dict[str, float], problem: str):
    with pytest.raises(InputError, match=problem):
        sample_sources(corpus_of_sizes(3), RULES, "run", 1, **given)  # type: ignore[arg-type]


def test_asking_for_more_gives_all_and_no_sources_is_an_error():
    assert len(sample_sources(corpus_of_sizes(3), RULES, "run", 1, number=99).sources) == 3
    assert len(sample_sources(corpus_of_sizes(3), RULES, "run", 1, share=0.01).sources) == 1
    with pytest.raises(InputError, match="no source sentence"):
        sample_sources(corpus_of_sizes(0), RULES, "run", 1, share=0.5)


def test_rules_that_need_an_adjudicator_give_no_gold():
    with pytest.raises(InputError, match="not adjudicated"):
        gold_of([("p", "s")], [], LabelRule.ADJUDICATED, 2)


def test_gold_follows_the_rule_with_ties_and_incomplete_sources():
    said = {"1": (True, True), "2": (True, False), "3": (False, False)}
    judgments = [judged("s", target, n, link=link) for target, by in said.items() for n, link in enumerate(by)]
    judgments += [judged("half", target, 0, link=True) for target in said]
    sources = [("p", "s"), ("p", "half"), ("p", "nobody")]
    both = gold_of(sources, judgments, LabelRule.BOTH, 2)
    assert both.links == {("p", "s"): {"1"}}
    assert both.unlabelled == {("p", "s"): frozenset()}
    assert both.incomplete == (("p", "half"), ("p", "nobody"))
    majority = gold_of(sources, judgments, LabelRule.MAJORITY, 2)
    assert (majority.links, majority.unlabelled) == ({("p", "s"): {"1"}}, {("p", "s"): {"2"}})


def test_a_source_without_links_counts_as_gold_too():
    gold = gold_of([("p", "s")], [judged("s", "1", n, link=False) for n in (1, 2)], LabelRule.BOTH, 2)
    assert (gold.with_gold, gold.without_gold) == ([], [("p", "s")])


GOLD = ExhaustiveGold(
    {("p", "0"): frozenset({"1", "2"}), ("p", "1"): frozenset({"1"}), ("p", "2"): frozenset(), ("p", "3"): frozenset()},
    {("p", "1"): frozenset({"9"})},
)
FIRST = {("p", "0"): ["1", "5"], ("p", "1"): ["9"], ("p", "2"): ["1"], ("p", "3"): []}
SECOND = {("p", "0"): ["2", "1"], ("p", "1"): ["1"], ("p", "2"): []}


def test_measures_equal_those_by_hand():
    first, second, both, shared = measure(GOLD, {"a": FIRST, "b": SECOND}, View.FULL, ("a", "b"))
    # Source 0 of a: 1 hit of 2 found, of 2 gold; source 1: the unlabelled 9 counts for nothing.
    assert [m.mean for m in first.measures if m] == [0.25, 0.25, 0.25]
    assert (first.without_gold, first.false_links, first.unanswered) == (2, 0.5, 0)
    assert [m.mean for m in second.measures if m] == [1, 1, 1]
    # b has no answer for source 3, which has no gold.
    assert (second.without_gold, second.false_links) == (1, 0)
    assert (both.over, both.sources, [m.mean for m in both.measures if m]) == (Over.GOLD, 2, [0.25, 0.5, 1 / 3])
    assert (shared.over, shared.sources, [m.mean for m in shared.measures if m]) == (
        Over.SHARED,
        1,
        [0.5, 1, pytest.approx(2 / 3)],
    )


def test_unanswered_sources_are_counted_separately_and_not_as_wrong():
    decisions = [
        Decision(approach="x", pair="p", source="0", targets=("1", "2", "7")),
        Decision(approach="x", pair="p", source="1", targets=(), outcome=Outcome.FAILED),
    ]
    (row,) = measure(GOLD, {"x": lists_of(decisions, 2)}, View.POOL)
    assert (row.sources, row.unanswered) == (1, 1)
    assert [m.mean for m in row.measures if m] == [1, 1, 1]
    assert (row.without_gold, row.false_links) == (0, None)


def test_no_mean_without_a_source_with_gold():
    gold = ExhaustiveGold({("p", "2"): frozenset()})
    (row,) = measure(gold, {"a": FIRST}, View.FULL)
    assert (row.measures, row.sources, row.without_gold, row.false_links) == ((None, None, None), 0, 1, 1)


def test_random_targets_of_a_source_do_not_depend_on_other_sources():
    targets = {("p", str(n)): [str(target) for target in range(9)] for n in range(40)}
    drawn = random_lists(targets, 2, seed=13)
    assert random_lists({("p", "3"): targets["p", "3"]}, 2, seed=13) == {("p", "3"): drawn["p", "3"]}
    assert {len(set(found)) for found in drawn.values()} == {2}
    assert {target for found in drawn.values() for target in found} == set(targets["p", "0"])
    assert random_lists({("p", "0"): ["1"]}, 2, seed=13) == {("p", "0"): ("1",)}


def test_sources_are_shuffled_if_judging_stops_at_a_number_of_links():
    plain, stopping = (
        sample_sources(corpus_of_sizes(30, 30), RULES, "run", 5, share=1, links=links) for links in (None, 4)
    )
    assert stopping.links == 4
    assert {one.key for one in stopping.sources} == {one.key for one in plain.sources}
    assert [one.pair for one in plain.sources] == sorted(one.pair for one in plain.sources)
    assert len({one.pair for one in stopping.sources[:12]}) == 2
    assert stopping == sample_sources(corpus_of_sizes(30, 30), RULES, "run", 5, share=1, links=4)
