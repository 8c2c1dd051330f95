"""Folds: no text in two folds, about equal sizes, and pairs recognised under any name."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.corpus.records import Corpus, Pair
from abcdlink.errors import InputError
from abcdlink.linking.fitted import document_fingerprint, make_folds, pair_fingerprints
from tests.helpers.scripted import scripted_document


def corpus_of(ends, texts=None):
    """Return a corpus with one link per pair; ``texts``: document -> sentences, by default its own name."""
    names = dict.fromkeys(name for two in ends for name in two)
    documents = {name: scripted_document(name, (texts or {}).get(name, [f"text of {name}"])) for name in names}
    pairs = [Pair(id=f"p{n}", source=a, target=b, links={"s0": ("s0",)}) for n, (a, b) in enumerate(ends)]
    return Corpus(name="little", documents=documents, pairs=pairs)


@given(st.lists(st.tuples(st.integers(0, 15), st.integers(16, 31)), min_size=1, max_size=20), st.integers(2, 4))
def test_no_document_is_in_two_folds(numbers, count):
    corpus = corpus_of([(f"d{a}", f"d{b}") for a, b in numbers])
    try:
        folds = make_folds(corpus, count)
    except InputError as error:
        assert "too few" in error.problem  # noqa: PT017 - whether there are enough groups is what is drawn
        return
    of_document = defaultdict(set)
    for pair in corpus.pairs:
        of_document[pair.source].add(folds[pair.id])
        of_document[pair.target].add(folds[pair.id])
    assert all(len(found) == 1 for found in of_document.values())
    assert set(folds.values()) == set(range(count))
    assert list(folds) == [pair.id for pair in corpus.pairs]


def test_a_document_with_the_same_texts_under_another_id_is_the_same():
    ends = [("a", "b"), ("copy of a", "c"), ("x", "y")]
    texts = {"a": ["One.", "Two."], "copy of a": ["One.", "Two."]}
    folds = make_folds(corpus_of(ends, texts), 2)
    assert folds["p0"] == folds["p1"] != folds["p2"]


def test_named_groups_stay_together():
    corpus = corpus_of([(f"a{n}", f"b{n}") for n in range(12)])
    folds = make_folds(corpus, 3, lambda pair: f"topic {int(pair.id[1:]) % 4}")
    assert all(folds[f"p{n}"] == folds[f"p{n % 4}"] for n in range(12))


def test_folds_have_about_equally_many_sources_with_links():
    corpus = corpus_of([(f"a{n}", f"b{n}") for n in range(20)])
    assert Counter(make_folds(corpus, 5).values()) == dict.fromkeys(range(5), 4)


def test_pairs_without_links_are_assigned_a_fold_but_do_not_form_one():
    corpus = corpus_of([("a", "b"), ("c", "d"), ("e", "f")])
    corpus.pairs[2] = corpus.pairs[2].model_copy(update={"links": None})
    assert set(make_folds(corpus, 2)) == {"p0", "p1", "p2"}
    with pytest.raises(InputError, match="2 group"):
        make_folds(corpus, 3)


@pytest.mark.parametrize("pairs", [[], [("a", "b")], [("a", "b"), ("b", "c")]])
def test_too_few_groups_are_refused_with_a_hint(pairs):
    with pytest.raises(InputError, match="fewer folds"):
        make_folds(corpus_of(pairs), 2)


def test_a_single_fold_is_refused():
    with pytest.raises(InputError, match="at least 2 folds"):
        make_folds(corpus_of([("a", "b"), ("c", "d")]), 1)


def test_fingerprints_depend_on_texts_not_ids():
    assert document_fingerprint(scripted_document("a", ["x", "y"])) == document_fingerprint(
        scripted_document("b", ["x", "y"])
    )
    different = [["x", "y"], ["y", "x"], ["xy"], ["x", "y", ""], ["", "xy"], ["x\0y"], ["\ud800"]]
    assert len({document_fingerprint(scripted_document("a", texts)) for texts in different}) == len(different)


def test_a_pair_has_a_direction():
    fingerprints = pair_fingerprints(corpus_of([("a", "b"), ("b", "a"), ("a", "b")]))
    assert fingerprints["p0"] == fingerprints["p2"] != fingerprints["p1"]
