"""The table of rankings: order, ties, division into parts, and top-k decisions from it."""

from __future__ import annotations

import io
import re
import statistics

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.corpus.records import Corpus, Pair
from abcdlink.errors import InputError
from abcdlink.linking.decisions import decide_chosen, top_k
from abcdlink.progress import silent
from abcdlink.retrieval import Effort, get_retriever, rank_corpus, ranked
from abcdlink.retrieval.registry import FUSIONS, HYBRID, Fusion, read_parts, z_scores
from tests.helpers.scripted import Scripted, scripted_corpora, scripted_document


def by_hand(scores):
    """Target positions best first; Python's sort is stable."""
    return sorted(range(len(scores)), key=lambda j: -round(scores[j], 6))


def test_scores_within_a_millionth_are_ties_in_document_order():
    assert ranked(np.array([0.2, 0.5, 0.5 + 4e-7, 0.2, 0.9])).tolist() == [4, 1, 2, 0, 3]


@given(scripted_corpora())
def test_rankings_are_the_sorted_scores_of_every_source(example):
    corpus, scores = example
    table = rank_corpus(corpus, Scripted(scores))
    expected = [
        (pair.id, f"s{i}", f"s{j}", row[j], rank)
        for pair in corpus.pairs
        for i, row in enumerate(scores[pair.source, pair.target])
        for rank, j in enumerate(by_hand(row), start=1)
    ]
    assert list(table.itertuples(index=False, name=None)) == expected


@given(scripted_corpora())
def test_top_k_takes_the_best_of_every_source_in_any_row_order(example):
    corpus, scores = example
    table = rank_corpus(corpus, Scripted(scores))
    expected = {
        pair.id: {
            f"s{i}": tuple(f"s{j}" for j in by_hand(row)[:2]) for i, row in enumerate(scores[pair.source, pair.target])
        }
        for pair in corpus.pairs
    }
    assert top_k(table, 2) == expected
    assert top_k(table.sample(frac=1, random_state=0), 2) == expected


def test_decisions_survive_parquet_and_name_their_approach():
    a, b = scripted_document("a", ["x"]), scripted_document("b", ["y", "z"])
    corpus = Corpus(name="c", documents={"a": a, "b": b}, pairs=[Pair(id="p", source="a", target="b")])
    file = io.BytesIO()
    rank_corpus(corpus, Scripted({("a", "b"): [[1.0, 2.0]]})).to_parquet(file)
    table = pd.read_parquet(file)
    (decision,) = decide_chosen("scripted@3", table, (table["rank"] <= 3).to_numpy())
    assert (decision.approach, decision.pair, decision.source) == ("scripted@3", "p", "s0")
    assert decision.targets == ("s1", "s0")


def test_a_source_without_chosen_targets_is_decided_too():
    a, b = scripted_document("a", ["x", "w"]), scripted_document("b", ["y", "z"])
    corpus = Corpus(name="c", documents={"a": a, "b": b}, pairs=[Pair(id="p", source="a", target="b")])
    table = rank_corpus(corpus, Scripted({("a", "b"): [[1.0, 2.0], [4.0, 3.0]]}))
    decisions = decide_chosen("scripted@threshold", table, (table["score"] > 3.5).to_numpy())
    assert [(decision.source, decision.targets) for decision in decisions] == [("s0", ()), ("s1", ("s0",))]


values = st.sampled_from([-3.0, 0.0, 0.25, 0.25 + 1e-9, 1.0, 7.5])
weights = st.sampled_from([0.01, 0.5, 1.0, 100.0])


@st.composite
def matrices(draw):
    """Draw two to four matrices of the same shape with ties."""
    rows, columns = draw(st.integers(1, 5)), draw(st.integers(1, 7))
    row = st.lists(values, min_size=columns, max_size=columns)
    return draw(st.lists(st.lists(row, min_size=rows, max_size=rows), min_size=2, max_size=4))


def fused(kind, parts, by):
    source, target = scripted_document("a", ["x"] * len(parts[0])), scripted_document("b", ["y"] * len(parts[0][0]))
    fusion = Fusion("f", by, [Scripted({("a", "b"): part}) for part in parts], FUSIONS[kind])
    fusion.prepare([source, target])
    return fusion.score(source, target)


@given(matrices(), st.data())
def test_hybrid_is_the_weighted_sum_of_z_scores_over_the_pair(parts, data):
    by = data.draw(st.lists(weights, min_size=len(parts), max_size=len(parts)))
    expected = np.zeros(np.shape(parts[0]))
    for weight, part in zip(by, parts, strict=True):
        cells = [value for row in part for value in row]
        mean, deviation = statistics.fmean(cells), statistics.pstdev(cells)
        for i, row in enumerate(part):
            for j, value in enumerate(row):
                expected[i, j] += weight * (value - mean) / deviation if deviation > 1e-6 else 0
    np.testing.assert_allclose(fused("hybrid", parts, by), expected, rtol=1e-6, atol=1e-6)


@given(matrices(), st.data())
def test_rrf_is_the_weighted_sum_of_one_over_60_plus_the_rank(parts, data):
    by = data.draw(st.lists(weights, min_size=len(parts), max_size=len(parts)))
    expected = np.zeros(np.shape(parts[0]))
    for weight, part in zip(by, parts, strict=True):
        for i, row in enumerate(part):
            for j, value in enumerate(row):
                expected[i, j] += weight / (61 + sum(round(other, 6) > round(value, 6) for other in row))
    np.testing.assert_allclose(fused("rrf", parts, by), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("hybrid:bm25+jaccard", [(1, "bm25"), (1, "jaccard")]),
        ("rrf:0.01*bm25+100*jaccard", [(0.01, "bm25"), (100, "jaccard")]),
        ("hybrid:2e0*st:./models/x:y+hybrid", [(2, "st:./models/x:y"), (1, "hybrid")]),
        ("hybrid", [(0.5, "jaccard"), (0.5, "bm25-stemmed"), (1, "all-minilm-l6-v2")]),
    ],
)
def test_names_state_weights_and_retrievers(name, parts):
    assert read_parts(name) == parts


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("hybrid:", "'hybrid:' does not name two retrievers"),
        ("rrf", "'rrf' does not name two retrievers"),
        ("hybrid:bm25", "does not name two retrievers"),
        ("hybrid:bm25+", "does not name two retrievers"),
        ("hybrid:+bm25", "does not name two retrievers"),
        ("hybrid:bm25+0.5*", "does not name two retrievers"),
        ("rrf:bm25+0.5*bm25", "'rrf:bm25+0.5*bm25' names 'bm25' twice"),
        ("rrf:bm25+hybrid:jaccard", "has the fusion 'hybrid:jaccard' in it"),
        ("hybrid:x*bm25+jaccard", "'x' of 'bm25' in 'hybrid:x*bm25+jaccard' is not a number from 0.01 to 100"),
        ("hybrid:*bm25+jaccard", "the weight '' of 'bm25'"),
        ("hybrid:bm25+0*jaccard", "the weight '0' of 'jaccard'"),
        ("hybrid:bm25+-1*jaccard", "the weight '-1' of 'jaccard'"),
        ("hybrid:nan*bm25+jaccard", "the weight 'nan' of 'bm25'"),
        ("hybrid:101*bm25+jaccard", "the weight '101' of 'bm25'"),
        ("hybrid:bm25+bm26", "there is no retriever 'bm26'"),
        ("hybrid:bm25 +jaccard", "there is no retriever 'bm25 '"),
        ("Hybrid:bm25+jaccard", "there is no retriever 'Hybrid:bm25+jaccard'"),
    ],
)
def test_an_invalid_name_says_what_is_wrong_and_how_to_write_it(name, problem):
    with pytest.raises(InputError, match=re.escape(problem)) as caught:
        get_retriever(name)
    assert HYBRID in caught.value.hint or "0.5*jaccard" in caught.value.hint


def test_a_fusion_by_name_fuses_the_named_parts():
    source = scripted_document("a", ["A fire burned the warehouse.", "Prices rose.", "Nobody was hurt."])
    target = scripted_document("b", ["Warehouse fires were burning.", "The prices of oil rose.", "*", "Prices fell."])
    parts = []
    for name in ("bm25-stemmed", "jaccard"):
        part = get_retriever(name)
        part.prepare([source, target])
        parts.append(part.score(source, target).tolist())
    for kind in FUSIONS:
        fusion = get_retriever(f"{kind}:bm25-stemmed+0.5*jaccard")
        fusion.prepare([source, target])
        assert fusion.name == f"{kind}:bm25-stemmed+0.5*jaccard"
        np.testing.assert_allclose(fusion.score(source, target), fused(kind, parts, [1, 0.5]))


class Costly(Scripted):
    """A retriever that reports a given effort and records what it is warmed with."""

    def __init__(self, effort, sentences, cells):
        super().__init__({})
        self._said, self.sentences_per_part, self.cells_per_part, self.warmed = effort, sentences, cells, []

    @property
    def effort(self):
        return self._said

    def warm(self, texts, progress=silent):
        self.warmed += list(progress(texts, "warm"))


def test_a_fusion_needs_what_its_parts_need():
    dense = Costly(Effort(truncated=3, max_length=256, kept_seconds=2.0), 1000, 5_000_000)
    cross = Costly(Effort(truncated=7, truncated_pairs=7, max_length=128), None, 10_000)
    words = Costly(Effort(kept_seconds=0.5), None, 5_000_000)
    fusion = Fusion("f", [1, 1, 1], [dense, cross, words], z_scores)
    assert fusion.effort == Effort(truncated=10, truncated_pairs=7, max_length=128, kept_seconds=2.5)
    assert fusion.sentences_per_part == 1000
    assert fusion.cells_per_part == pytest.approx(1 / (1 / 10_000 + 2 / 5_000_000), abs=1)
    assert Fusion("f", [1, 1], [cross, words], z_scores).sentences_per_part is None
    fusion.warm(["x", "y"])
    assert dense.warmed == cross.warmed == words.warmed == ["x", "y"]


def test_the_effort_counts_sentences_once_and_pairs_for_each_part():
    parts = [
        Effort(truncated=5, truncated_pairs=2, max_length=256, kept_seconds=3.0),
        Effort(truncated=4, truncated_pairs=1, max_length=256, kept_seconds=3.0),
    ]
    assert Effort.of_parts(parts) == Effort(truncated=6, truncated_pairs=3, max_length=256, kept_seconds=3.0)
    assert Effort.of_parts([]) == Effort()
    assert Effort.model_validate({"cut": 5, "cut_pairs": 2}) == Effort(truncated=5, truncated_pairs=2)  # earlier names
