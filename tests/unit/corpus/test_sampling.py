"""Samples of documents and pairs: what is drawn, that the draw is repeatable, and what is reported."""

from __future__ import annotations

import json
import tracemalloc
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.corpus import Corpus, Document, Pair, Sentence
from abcdlink.corpus import builder as corpus_builder
from abcdlink.corpus.counts import count
from abcdlink.corpus.io import read_corpus, write_corpus
from abcdlink.corpus.sampling import PairSampling, Sampling, sample_pairs, sample_targets
from abcdlink.corpus.shelf import Shelf
from abcdlink.errors import InputError
from tests.helpers.any_corpus import corpora
from tests.helpers.builders import corpus, document
from tests.helpers.outside_files import files, load

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


A, B = document("a", ["One.", "Two.", "Three."]), document("b", ["Uno.", "Dos.", "Tres.", "Cuatro."])


def test_links_are_counted_over_pairs_with_known_links():
    known = Pair(id="p", source="a", target="b", links={"0": ("0", "1"), "2": ("3",), "1": ()})
    none = Pair(id="q", source="a", target="b", links={})
    unknown = Pair(id="r", source="b", target="a")
    counts = count(corpus([known, none, unknown], A, B))
    assert (counts.documents, counts.pairs, counts.pairs_with_known_links) == (2, 3, 2)
    assert (counts.source_sentences, counts.target_sentences) == (pytest.approx(10 / 3), pytest.approx(11 / 3))
    assert (counts.links, counts.linked_sources, counts.linked_targets) == (3, 2, 3)
    assert (counts.linked_sources_per_pair, counts.links_per_pair) == (1.0, 1.5)
    assert (counts.links_per_linked_source, counts.links_per_linked_target) == (1.5, 1.0)
    assert (counts.linked_source_share, counts.linked_target_share) == (pytest.approx(2 / 6), pytest.approx(3 / 8))
    assert counts.sources_with_several_targets == 1
    assert (counts.clusters.percent, counts.clusters.largest) == (pytest.approx(200 / 3), 2)


def test_a_corpus_without_pairs_has_sentences_and_no_links():
    counts = count(corpus([], A, B))
    assert (counts.source_sentences, counts.target_sentences, counts.links_per_pair) == (None, 3.5, None)
    assert counts.clusters.percent == 0


@given(corpora())
def test_shares_are_between_0_and_1_and_sums_are_consistent(made):
    counts = count(made)
    assert counts.linked_sources <= counts.links >= counts.linked_targets
    assert counts.sources_with_several_targets <= counts.linked_sources
    for share in (counts.linked_source_share, counts.linked_target_share):
        assert share is None or 0 <= share <= 1
    assert counts.clusters.links == counts.links


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@given(st.dictionaries(names, st.lists(texts, min_size=1, max_size=3), max_size=8), st.sampled_from([0, 20, 10_000]))
def test_a_shelf_is_a_dictionary_in_insertion_order(contents, most_held):
    shelf, plain = Shelf(most_held), {}
    for name, sentences in contents.items():
        plain[name] = document(name, sentences).model_copy(update={"meta": {"topic": name}})
        shelf.add(plain[name])
    assert dict(shelf) == plain
    assert (list(shelf), len(shelf), list(shelf.values())) == (list(plain), len(plain), list(plain.values()))
    assert shelf.sentences == sum(len(one.sentences) for one in plain.values())
    assert [Document.model_validate_json(line) for line in shelf.lines()] == list(plain.values())
    assert "absent" not in shelf
    with pytest.raises(KeyError):
        shelf["absent"]


def test_a_corpus_kept_on_disk_is_written_and_read_like_any_other(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus_builder, "Shelf", lambda _: Shelf(30))
    documents = [Document(id=f"d{n}", sentences=(Sentence(id="0", text=f"Sentence {n}."),)) for n in range(50)]
    builder = corpus_builder.CorpusBuilder("large")
    for one in documents:
        builder.add_document("x", one)
    made = builder.build()
    assert isinstance(made.documents, Shelf)
    assert list(made.model_copy(update={"pairs": []}).documents.values()) == documents
    write_corpus(made, tmp_path / "large")
    read = read_corpus(tmp_path / "large")
    assert isinstance(read.documents, Shelf)
    monkeypatch.undo()
    small = read_corpus(tmp_path / "large")
    assert (type(small), small.documents) == (Corpus, {one.id: one for one in documents})


def test_importing_a_large_file_keeps_little_of_it_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus_builder, "Shelf", lambda _: Shelf(40_000))
    path = tmp_path / "large.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for n in range(200):
            sides = {
                side: {
                    "id": f"{side}-{n}",
                    "sentences": [f"Sentence {at} of {side} {n}, {'and on ' * 20}." for at in range(25)],
                }
                for side in ("source", "target")
            }
            file.write(json.dumps({"pair": f"p{n}", **sides}) + "\n")
    load("jsonl", files(tmp_path / "warm", {"x.jsonl": path.read_bytes()[:50_000]}) / "x.jsonl")
    tracemalloc.start()
    try:
        imported = load("jsonl", path)
        write_corpus(imported, tmp_path / "large")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(imported.pairs) == 200
    assert path.stat().st_size > 1_600_000
    assert peak < 800_000
