"""Retrievers without a model: BM25 against rank_bm25, Jaccard, the hybrid's parts."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi
from scripted import Scripted, document

from abcdlink.errors import InputError
from abcdlink.retrieval import get_retriever, ranked
from abcdlink.retrieval.hybrid import Hybrid, z_scores
from abcdlink.retrieval.tokens import normalising_tokenizer, paper_tokenizer

WORDS = [
    "The",
    "the",
    "fire",
    "Fire",
    "fires",
    "don't",
    "3,000",
    "*",
    "\n",
    "\N{LATIN SMALL LETTER E WITH ACUTE}t\N{LATIN SMALL LETTER E WITH ACUTE}",
    ".",
]
texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
documents = st.lists(st.lists(texts, min_size=1, max_size=6), min_size=2, max_size=5)


@settings(max_examples=25, deadline=None)
@given(documents)
def test_bm25_is_rank_bm25_with_one_index_per_target_document(contents):
    split = paper_tokenizer()
    several = [document(f"d{n}", content) for n, content in enumerate(contents)]
    bm25 = get_retriever("bm25")
    bm25.prepare(several)
    for target in several:
        tokens = [split(text) for text in target.texts]
        reference = BM25Okapi(tokens) if any(tokens) else None
        for source in several:
            scores = bm25.score(source, target)
            for row, text in zip(scores, source.texts, strict=True):
                expected = reference.get_scores(split(text)) if reference else np.zeros(len(tokens))
                np.testing.assert_allclose(row, expected, atol=1e-9)
                assert ranked(row).tolist() == ranked(expected).tolist()


@settings(max_examples=25, deadline=None)
@given(documents)
def test_jaccard_is_common_stems_over_all_stems(contents):
    tokenize = normalising_tokenizer()
    source, target = document("a", contents[0]), document("b", contents[1])
    jaccard = get_retriever("jaccard")
    jaccard.prepare([source, target])
    sets = [[set(tokenize(text)) for text in texts] for texts in (source.texts, target.texts)]
    expected = [[len(one & other) / max(len(one | other), 1) for other in sets[1]] for one in sets[0]]
    np.testing.assert_allclose(jaccard.score(source, target), expected)


def test_normalised_tokens_are_stems_of_content_words():
    assert normalising_tokenizer()("The fires, and 3 FIRES burned -- don't!") == ["fire", "3", "fire", "burn"]


def test_z_scores_have_mean_zero_and_deviation_one_and_alike_scores_say_nothing():
    z = z_scores(np.array([[1.0, 2.0], [3.0, 7.0]]))
    assert (z.mean(), z.std()) == pytest.approx((0, 1))
    assert not z_scores(np.full((2, 3), 0.3)).any()


def test_the_hybrid_follows_words_where_the_dense_part_is_silent_and_the_dense_part_where_words_are():
    source = document("a", ["A fire burned the warehouse.", "Nothing alike."])
    target = document("b", ["Prices rose.", "Warehouse fires were burning.", "*"])
    silent, loud = np.zeros((2, 3)), [[0.0, 0.0, 0.0], [0.1, 0.2, 0.9]]
    for dense, best in ((silent, [1, 0]), (loud, [1, 2])):
        hybrid = Hybrid(Scripted({("a", "b"): dense}))
        hybrid.prepare([source, target])
        assert [ranked(row)[0] for row in hybrid.score(source, target)] == best


def test_an_unknown_retriever_is_named_with_those_there_are():
    with pytest.raises(
        InputError, match=r"'bm26'.*choose one of bm25, jaccard, all-minilm-l6-v2.*st:MODEL, sparse:MODEL, ce:MODEL"
    ):
        get_retriever("bm26")


def test_importing_retrievers_and_scores_loads_nothing_heavy():
    code = (
        "import sys, abcdlink.retrieval, abcdlink.evaluation, abcdlink.linking.top_k;"
        "print({'torch', 'spacy', 'pandas', 'prefect', 'scipy', 'sentence_transformers'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "set()\n"
