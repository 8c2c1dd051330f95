"""Counts of a corpus: the cells of Table 1 and more."""

from __future__ import annotations

import pytest
from hypothesis import given

from abcdlink.corpus import Pair
from abcdlink.corpus.counts import count
from tests.helpers.builders import corpus, document
from tests.unit.corpus.test_corpus import corpora

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
