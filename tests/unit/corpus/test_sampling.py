"""Samples of documents and pairs: what is drawn, that the draw is repeatable, and what is reported."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.corpus import Corpus, Document, Pair
from abcdlink.corpus.sampling import PairSampling, Sampling, sample_pairs, sample_targets
from abcdlink.errors import InputError
from tests.helpers.builders import document

TOPICS = ("sports", "politics", "culture")


def topical(number: int) -> Corpus:
    """Documents t0, t1, ... of 1 to 5 sentences on three alternating topics, each with two sources of other lengths."""
    documents: dict[str, Document] = {}
    pairs = []
    for index in range(number):
        target = document(f"t{index}", [f"Sentence {n} of {index}." for n in range(1 + index % 5)])
        documents[target.id] = target.model_copy(update={"meta": {"topic": TOPICS[index % 3]}})
        for length in (2, 1):
            source = document(f"s{index}-{length}", ["A source."] * length)
            documents[source.id] = source
            pairs.append(Pair(id=f"p{index}-{length}", source=source.id, target=target.id))
    return Corpus(name="topical", documents=documents, pairs=pairs)


def test_documents_used_only_as_sources_are_never_targets():
    drawn, sampled = sample_targets(topical(6), Sampling())
    assert list(drawn.documents) == [f"t{n}" for n in range(6)]
    assert (drawn.pairs, sampled.there, sampled.drawn) == ([], 6, 6)


@given(st.integers(1, 40), st.integers(0, 5), st.data())
def test_a_sample_has_the_requested_size_and_is_repeatable(number, seed, data):
    size = data.draw(st.integers(1, number))
    how = Sampling(size=size, seed=seed, by="topic")
    drawn, sampled = sample_targets(topical(number), how)
    assert len(drawn.documents) == size == sampled.drawn == sum(taken for _, taken in sampled.strata.values())
    assert list(drawn.documents) == list(sample_targets(topical(number), how)[0].documents)
    for eligible, taken in sampled.strata.values():  # each stratum gets its share, rounded down or up
        assert abs(taken - size * eligible / number) < 1


def test_other_seeds_draw_other_documents():
    draws = {tuple(sample_targets(topical(40), Sampling(size=5, seed=seed))[0].documents) for seed in range(10)}
    assert len(draws) > 5


def test_samples_are_drawn_from_the_shortest_eligible_documents():
    how = Sampling(only={"topic": ("sports", "culture")}, shortest=4, size=2, seed=1)
    drawn, sampled = sample_targets(topical(20), how)
    fitting = [n for n in range(20) if TOPICS[n % 3] != "politics"]
    shortest = sorted(fitting, key=lambda n: n % 5)[:4]
    assert {f"t{n}" for n in shortest} >= set(drawn.documents)
    assert (sampled.there, sampled.eligible, sampled.drawn) == (20, 4, 2)
    assert str(sampled) == (
        "2 of 20 documents, topic sports or culture, the 4 with the shortest target, drawn at random with seed 1"
    )


def test_the_shortest_source_of_each_target_is_taken():
    corpus, sampled = sample_pairs(topical(10), PairSampling(one_source=True, shortest=4, size=3, seed=2))
    assert {pair.id.rpartition("-")[2] for pair in corpus.pairs} == {"1"}
    assert (len(corpus.pairs), len(corpus.documents), sampled.there) == (3, 6, 20)
    assert {len(corpus.target_of(pair).sentences) for pair in corpus.pairs} <= {1, 2}


def test_pairs_are_stratified_by_the_topic_of_their_target():
    corpus, _ = sample_pairs(topical(30), PairSampling(one_source=True, size=9, by="topic"))
    assert Counter(corpus.target_of(pair).meta["topic"] for pair in corpus.pairs) == dict.fromkeys(TOPICS, 3)


@pytest.mark.parametrize(
    ("how", "problem"),
    [
        (Sampling(size=7), "7 documents requested, but only 6 available"),
        (Sampling(shortest=9), "9 documents requested"),
        (Sampling(by="date"), "no document has the field 'date'"),
        (Sampling(only={"date": ("2020",)}), "no document has the field 'date'"),
        (Sampling(only={"topic": ("chess",)}, size=1), "only 0 available"),
    ],
)
def test_impossible_samples_are_refused(how, problem):
    with pytest.raises(InputError, match=problem):
        sample_targets(topical(6), how)
