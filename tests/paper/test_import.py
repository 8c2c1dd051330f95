"""The released ABCD-Link data is read completely: nothing refused, every count as published."""

from __future__ import annotations

import csv

from abcdlink.corpus import read_corpus, write_corpus
from abcdlink.corpus.formats import import_corpus
from abcdlink.corpus.segmentation import get_segmenter


def test_news_ecb_has_its_published_counts_and_survives_a_round_trip(shared_data, tmp_path):
    corpus = import_corpus("abcd-link", shared_data / "news_ecb", get_segmenter())
    links = sum(len(targets) for pair in corpus.pairs for targets in (pair.links or {}).values())
    assert (len(corpus.documents), len(corpus.pairs), links, corpus.refused) == (502, 2505, 9383, [])
    assert [note.what for note in corpus.notes] == ["Documents in no pair, which nobody judges"]
    write_corpus(corpus, tmp_path / "news_ecb")
    assert read_corpus(tmp_path / "news_ecb") == corpus.model_copy(update={"notes": []})


def test_reviews_he_has_the_pairs_that_its_annotations_name(shared_data):
    corpus = import_corpus("abcd-link", shared_data / "reviews_he", get_segmenter())
    assert (len(corpus.documents), len(corpus.pairs), corpus.refused) == (42, 21, [])
    pairs = {pair.id: pair for pair in corpus.pairs}
    with (shared_data / "reviews_he" / "annotations.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        pair = pairs[row["document_id"]]
        assert row["source_id"] in corpus.source_of(pair).position
        assert row["target_id"] in corpus.target_of(pair).position
    assert len({row["document_id"] for row in rows}) == 20


def test_the_f1000rd_sample_gives_its_pairs_and_links(shared_data):
    corpus = import_corpus("f1000rd", shared_data / "f1000rd_sample", get_segmenter())
    links = sum(len(targets) for pair in corpus.pairs for targets in (pair.links or {}).values())
    assert (len(corpus.pairs), links, corpus.source_count, corpus.refused) == (3, 15, 11, [])
