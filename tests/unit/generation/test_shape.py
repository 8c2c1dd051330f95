"""The shape of a synthetic corpus: the planned sizes add up to what was asked for."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abcdlink.corpus import Corpus, Pair
from abcdlink.domain import Shape
from abcdlink.errors import InputError
from abcdlink.generation import compare_shape, learn_shape, sizes_of
from tests.helpers.builders import document


def corpus_of_shape(*lengths_and_links):
    """Return a corpus; each pair is given by the length of its source and its links by position."""
    documents, pairs = {}, []
    for number, (length, links) in enumerate(lengths_and_links):
        for side, count in (("a", length), ("b", 30)):
            name = f"{side}{number}"
            documents[name] = document(name, (f"Sentence {i} of {name}." for i in range(count)))
        found = None if links is None else {str(s): tuple(map(str, t)) for s, t in links.items()}
        pairs.append(Pair(id=str(number), source=f"a{number}", target=f"b{number}", links=found))
    return Corpus(name="c", documents=documents, pairs=pairs)


SHAPES = st.builds(
    lambda low, more, linked, targets, sources: Shape(
        sentences=(low, low + more), linked=linked, targets=targets, sources=sources
    ),
    st.integers(8, 15),
    st.integers(0, 20),
    st.floats(0.2, 0.9),
    st.floats(1, 3),
    st.floats(1, 1.3),
)


@settings(max_examples=200)
@given(SHAPES, st.integers(20, 60), st.integers(0, 9))
def test_the_sizes_of_many_documents_have_the_means_of_the_shape(shape, documents, seed):
    sizes = sizes_of(shape, {f"d{n}": 60 for n in range(documents)}, seed).values()
    low, high = shape.sentences
    assert all(low <= size.sentences <= high for size in sizes)
    assert all(1 <= size.linked <= size.sentences for size in sizes)
    assert all(max(size.targets) <= size.distinct <= sum(size.targets) for size in sizes)
    sentences, linked = sum(size.sentences for size in sizes), sum(size.linked for size in sizes)
    links, distinct = sum(sum(size.targets) for size in sizes), sum(size.distinct for size in sizes)
    assert sentences / documents == pytest.approx((low + high) / 2, rel=0.03)
    assert linked / sentences == pytest.approx(shape.linked, rel=0.05)
    assert links / linked == pytest.approx(shape.targets, rel=0.05)
    assert links / distinct == pytest.approx(shape.sources, rel=0.15)


def test_one_document_gets_the_mean_and_unusable_documents_get_nothing():
    sizes = sizes_of(Shape(sentences=(8, 12), linked=0.4), {"a": 50, "b": 0}, 1)
    assert list(sizes) == ["a"]
    assert (sizes["a"].sentences, sizes["a"].linked) == (10, 4)


def test_lengths_differ_and_depend_on_the_seed():
    targets = {f"d{n}": 50 for n in range(20)}
    by_seed = [[size.sentences for size in sizes_of(Shape(), targets, seed).values()] for seed in (1, 1, 2)]
    assert by_seed[0] == by_seed[1] != by_seed[2]
    assert set(by_seed[0]) == set(range(8, 13))


@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), st.integers(0, 3), max_size=6), SHAPES)
def test_short_targets_get_no_more_links_than_they_can_have(targets, shape):
    for name, size in sizes_of(shape, targets, 3).items():
        assert size.distinct <= targets[name]
        assert max(size.targets) <= size.distinct
        assert size.linked <= 2 * targets[name]


def test_a_shape_is_learned_from_pairs_with_links():
    found = corpus_of_shape((10, {0: [1, 2], 3: [2], 4: []}), (14, {1: [5]}), (50, None))
    shape = learn_shape(found)
    assert shape.sentences == (9, 15)  # mean 12, standard deviation 2
    assert shape.linked == pytest.approx(3 / 24)
    assert shape.targets == pytest.approx(4 / 3)
    assert shape.sources == pytest.approx(4 / 3)
    assert [row.met for row in compare_shape(shape, found)] == [True] * 4
    denser = corpus_of_shape((10, {0: [1, 2], 3: [2], 4: [1]}), (14, {1: [5]}))
    assert [row.met for row in compare_shape(shape, denser)] == [True, False, True, False]
    assert compare_shape(shape, corpus_of_shape((10, {}))) == ()


def test_a_corpus_without_links_has_no_shape():
    with pytest.raises(InputError, match="has no links"):
        learn_shape(corpus_of_shape((10, {}), (10, None)))
