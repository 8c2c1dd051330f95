"""The table of rankings: order, ties, division into parts, and top-k decisions from it."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
from hypothesis import given

from abcdlink.corpus.records import Corpus, Pair
from abcdlink.linking.decisions import decide_chosen, top_k
from abcdlink.retrieval import rank_corpus, ranked
from abcdlink.retrieval.base import rank_pairs
from tests.helpers.scripted import Scripted, document, scripted_corpora


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
def test_parts_of_a_corpus_rank_like_the_whole(example):
    corpus, scores = example
    retriever = Scripted(scores)
    whole = rank_corpus(corpus, retriever).astype({"pair": str, "source": str, "target": str})
    assert set(retriever.prepared) == {name for p in corpus.pairs for name in (p.source, p.target)}
    parts = [
        rank_pairs(corpus, retriever, [pair]).astype({"pair": str, "source": str, "target": str})
        for pair in corpus.pairs
    ]
    pd.testing.assert_frame_equal(pd.concat(parts, ignore_index=True), whole)


def test_no_pairs_give_an_empty_table():
    table = rank_corpus(Corpus(name="none", documents={}, pairs=[]), Scripted({}))
    assert len(table) == 0
    assert top_k(table, 3) == {}


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
    a, b = document("a", ["x"]), document("b", ["y", "z"])
    corpus = Corpus(name="c", documents={"a": a, "b": b}, pairs=[Pair(id="p", source="a", target="b")])
    file = io.BytesIO()
    rank_corpus(corpus, Scripted({("a", "b"): [[1.0, 2.0]]})).to_parquet(file)
    table = pd.read_parquet(file)
    (decision,) = decide_chosen("scripted@3", table, (table["rank"] <= 3).to_numpy())
    assert (decision.approach, decision.pair, decision.source) == ("scripted@3", "p", "s0")
    assert decision.targets == ("s1", "s0")


def test_a_source_without_chosen_targets_is_decided_too():
    a, b = document("a", ["x", "w"]), document("b", ["y", "z"])
    corpus = Corpus(name="c", documents={"a": a, "b": b}, pairs=[Pair(id="p", source="a", target="b")])
    table = rank_corpus(corpus, Scripted({("a", "b"): [[1.0, 2.0], [4.0, 3.0]]}))
    decisions = decide_chosen("scripted@threshold", table, (table["score"] > 3.5).to_numpy())
    assert [(decision.source, decision.targets) for decision in decisions] == [("s0", ()), ("s1", ("s0",))]
