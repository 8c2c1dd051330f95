"""Comparisons of approaches: paired, counting unanswered sources, corrected for their number."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.corpus.records import Corpus, Pair
from abcdlink.errors import InputError
from abcdlink.evaluation.comparisons import (
    Trait,
    average_f1,
    break_down,
    by_cutoff,
    compare_one_with_many,
    compare_with_best,
    holm,
)
from abcdlink.evaluation.results import ApproachResult
from abcdlink.evaluation.scores import score_ranking
from abcdlink.linking.records import Approach
from abcdlink.retrieval import rank_corpus
from abcdlink.statistics import bootstrap_differences
from tests.helpers.scripted import Scripted, scripted_corpora, scripted_document

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


def test_incomparable_tables_are_errors(table):
    with pytest.raises(InputError, match=r"did not score 'x'.*high, low, middle"):
        compare(table, "x", "low")
    with pytest.raises(InputError, match="high was not scored on every source"):
        compare_with_best(table.drop(index=table.index[(table["approach"] == "high")][:1]))
    with pytest.raises(InputError, match="has an approach twice"):
        compare_with_best(pd.concat([table, table]))
    with pytest.raises(InputError, match="is empty"):
        compare_with_best(table[:0])


NO_LINKS = {"precision": 0, "recall": 0, "f1": 0, "false_link_rate": None, "sources": 9, "answered": 9}


def result(kind, retriever, cutoff, f1, recall=0.5):
    approach = Approach(kind=kind, retriever=retriever, cutoff=cutoff, prompt_mode=4 if kind == "llm" else None)
    scores = {"precision": 0.5, "recall": recall, "f1": f1, "sources": 9, "answered": 9}
    return ApproachResult(approach=approach, **scores, all_sources=NO_LINKS, seconds=1, pairs=3)


RESULTS = [
    result("retriever", "bm25", 1, 0.4, recall=0.3),
    result("retriever", "bm25", 3, 0.6, recall=0.7),
    result("learned", "learned-logistic", 1, 0.8),
    result("learned", "learned-logistic", 3, 0.4),
    result("learned", "learned-logistic", "expected-f1", 0.9),
    result("retriever", "jaccard", 3, 0.9),
    result("llm", "bm25", 3, 0.9),
]


def test_measures_by_cutoff_cover_only_rankings_cut_at_k():
    table = by_cutoff(RESULTS, "recall")
    assert table.loc["bm25"].to_dict() == {1: 0.3, 3: 0.7}
    assert np.isnan(table.loc["jaccard", 1])
    assert sorted(table.index) == ["bm25", "jaccard", "learned-logistic"]


def test_the_average_over_cutoffs_needs_all_of_them():
    assert average_f1(RESULTS, (1, 3)) == pytest.approx({"learned-logistic": 0.6, "bm25": 0.5})
    assert list(average_f1(RESULTS, (1, 3))) == ["learned-logistic", "bm25"]
    assert average_f1(RESULTS) == {}


def table_of(rows):
    columns = ["approach", "pair", "source", "precision", "recall", "f1", "answered"]
    return pd.DataFrame([("x", *row[:2], row[2], row[2], row[2], row[3]) for row in rows], columns=columns)


@pytest.fixture
def corpus():
    documents = {
        "a": scripted_document("a", "abcdef"),
        "b": scripted_document("b", "ab"),
        "c": scripted_document("c", "abcd"),
    }
    links = {f"s{n}": tuple(f"s{i}" for i in range(n)) for n in range(5)}
    pairs = [
        Pair(id="p", source="a", target="c", links=links),
        Pair(id="q", source="b", target="a", links={"s0": ("s0",), "s1": ("s0",)}),
    ]
    return Corpus(name="c", documents=documents, pairs=pairs)


def bins(table, corpus, trait, column="f1"):
    return dict(break_down(table, corpus, trait)[["bin", column]].itertuples(index=False, name=None))


ROWS = [("p", "s1", 0.1, True), ("p", "s2", 0.2, True), ("p", "s3", 0.3, True), ("p", "s4", 0.5, True)]
MORE = [("q", "s0", 0.6, True), ("q", "s1", 0.8, True)]


def test_by_number_of_gold_links(corpus):
    found = bins(table_of(ROWS + MORE), corpus, Trait.LINKS)
    assert found == pytest.approx({"1 link": 0.5, "2 links": 0.2, "3 or more": 0.4})
    assert list(found) == ["1 link", "2 links", "3 or more"]


def test_by_position_in_the_source_document(corpus):
    found = bins(table_of(ROWS + MORE), corpus, Trait.POSITION)
    expected = {"first third": (0.1 + 0.6) / 2, "middle third": (0.2 + 0.3) / 2, "last third": (0.5 + 0.8) / 2}
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("size", range(1, 9))
def test_reversing_a_document_reverses_its_thirds(size):
    text = scripted_document("a", "x" * size)
    links = {s.id: ("s0",) for s in text.sentences}
    corpus = Corpus(name="c", documents={"a": text}, pairs=[Pair(id="p", source="a", target="a", links=links)])
    found = bins(table_of([("p", s.id, 0.5, True) for s in text.sentences]), corpus, Trait.POSITION, "sources")
    sizes = [found.get(f"{name} third", 0) for name in ("first", "middle", "last")]
    assert sizes == sizes[::-1]
    assert max(sizes) - min(sizes) <= 1


def test_by_length_of_the_target_document():
    sizes = [5, 7, 7, 9, 10, 20, 30, 40]
    documents = {f"d{n}": scripted_document(f"d{n}", "x" * size) for n, size in enumerate(sizes)}
    pairs = [Pair(id=f"p{n}", source="d0", target=f"d{n}", links={"s0": ("s0",)}) for n in range(len(sizes))]
    corpus = Corpus(name="c", documents=documents, pairs=pairs)
    rows = [(f"p{n}", "s0", n / 10, True) for n in range(len(sizes))]
    assert bins(table_of(rows), corpus, Trait.LENGTH, "sources") == {
        "up to 7 sentences": 3,
        "8 to 9 sentences": 1,
        "10 to 20 sentences": 2,
        "21 to 40 sentences": 2,
    }
    assert bins(table_of(rows[:1]), corpus, Trait.LENGTH) == {"up to 5 sentences": 0}


def test_unanswered_sources_are_counted_separately_and_as_wrong(corpus):
    rows = [("p", "s1", 0.4, True), ("q", "s0", 0.9, False), ("p", "s2", 0.7, False)]
    found = break_down(table_of(rows), corpus, Trait.LINKS).set_index("bin")
    assert found.loc["1 link", ["sources", "answered", "f1", "f1_of_all"]].tolist() == [2, 1, 0.4, 0.2]
    assert found.loc["2 links", ["sources", "answered", "f1", "f1_of_all"]].tolist() == [1, 0, 0, 0]


@given(scripted_corpora(), st.sampled_from(list(Trait)))
def test_bins_hold_every_source_once_and_average_to_the_overall_score(example, trait):
    corpus, scores = example
    frames = [
        score_ranking(corpus, rank_corpus(corpus, Scripted(scores)), [k]).assign(approach=f"x@{k}", answered=True)
        for k in (3, 1)
    ]
    table = pd.concat(frames)
    found = break_down(table, corpus, trait)
    assert not found.duplicated(["approach", "bin"]).any()
    assert list(dict.fromkeys(found["approach"])) == list(dict.fromkeys(table["approach"]))
    for name, group in found.groupby("approach"):
        own = table[table["approach"] == name]
        assert group["sources"].sum() == len(own)
        assert (group["f1"] * group["sources"]).sum() == pytest.approx(own["f1"].sum())


def test_a_different_corpus_is_an_error(corpus):
    with pytest.raises(InputError, match="'z' was scored, but is not in the corpus 'c'"):
        break_down(table_of([("z", "s0", 0.5, True)]), corpus, Trait.LINKS)
