"""Retrievers without a model, against plain computations: BM25 against rank_bm25."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from abcdlink import languages
from abcdlink.corpus.records import Corpus, Pair
from abcdlink.languages import stemmer, tokenizer
from abcdlink.linking.decisions import top_k
from abcdlink.retrieval import get_retriever, lexical, rank_corpus, ranked
from abcdlink.retrieval.lexical import normalised_tokens, paper_tokens
from abcdlink.settings import get_settings
from tests.helpers.scripted import scripted_document

WORDS = ["The", "the", "fire", "Fire", "fires", "don't", "3,000", "*", "\n", "été", "."]
LEXICAL = ("bm25", "bm25-stemmed", "jaccard", "hybrid:0.5*jaccard+bm25", "rrf:bm25+2*jaccard")
PAPER, NORMALISING = tokenizer(), stemmer()

texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
documents = st.lists(st.lists(texts, min_size=1, max_size=6), min_size=2, max_size=5)


@given(documents)
def test_bm25_equals_rank_bm25_with_one_index_per_target_document(contents):
    several = [scripted_document(f"d{n}", content) for n, content in enumerate(contents)]
    bm25 = get_retriever("bm25")
    bm25.prepare(several)
    for target in several:
        tokens = [PAPER(text) for text in target.texts]
        reference = BM25Okapi(tokens) if any(tokens) else None
        for source in several:
            scores = bm25.score(source, target)
            for row, text in zip(scores, source.texts, strict=True):
                expected = reference.get_scores(PAPER(text)) if reference else np.zeros(len(tokens))
                np.testing.assert_allclose(row, expected, atol=1e-9)
                assert ranked(row).tolist() == ranked(expected).tolist()


@given(documents)
def test_jaccard_is_common_stems_over_all_stems(contents):
    source, target = scripted_document("a", contents[0]), scripted_document("b", contents[1])
    jaccard = get_retriever("jaccard")
    jaccard.prepare([source, target])
    sets = [[set(NORMALISING(text)) for text in texts] for texts in (source.texts, target.texts)]
    expected = [[len(one & other) / max(len(one | other), 1) for other in sets[1]] for one in sets[0]]
    np.testing.assert_allclose(jaccard.score(source, target), expected)


def test_normalised_tokens_are_stems_of_content_words():
    assert NORMALISING("The fires, and 3 FIRES burned -- don't!") == ["fire", "3", "fire", "burn"]


@given(st.lists(texts | st.text(max_size=12), max_size=6))
def test_cached_tokens_equal_those_of_the_tokenizer(contents):
    for kept, tokenize in ((paper_tokens(), PAPER), (normalised_tokens(), NORMALISING)):
        expected = [tokenize(text) for text in contents]
        assert [kept.of(contents)[0] for _ in range(2)] == [expected] * 2


def test_a_second_run_tokenises_nothing_and_knows_the_cost_of_the_first(monkeypatch):
    several = [
        scripted_document("a", ["A fire burned.", "Prices rose."]),
        scripted_document("b", ["Fires were burning.", "Prices rose."]),
    ]

    def run(name):
        retriever = get_retriever(name)
        retriever.prepare(several)
        return retriever.score(*several), retriever.effort

    names = ("bm25", "jaccard", "bm25-stemmed")
    first = {name: run(name) for name in names}
    assert [first[name][1].kept_seconds > 0 for name in names] == [False, False, True], "two share their tokens"
    monkeypatch.setattr("spacy.blank", lambda _: pytest.fail("a tokenizer is loaded although all is there"))
    languages._split.cache_clear()
    for name in names:
        again, effort = run(name)
        np.testing.assert_array_equal(again, first[name][0])
        assert effort.kept_seconds > 0
        assert (effort.truncated, effort.max_length) == (0, None)
    with pytest.raises(pytest.fail.Exception):
        get_retriever("bm25").warm(["new"])


def test_another_version_of_a_tokenizer_package_has_separate_tokens(monkeypatch):
    paper_tokens().of(["x"])
    monkeypatch.setattr(lexical, "version", lambda _: "99")
    paper_tokens().of(["x"])
    assert len(list((get_settings().cache_root / "tokens").iterdir())) == 2


@given(documents, st.sampled_from(["bm25", "bm25-stemmed", "jaccard"]))
def test_very_long_documents_are_scored_in_several_steps(contents, name):
    several = [scripted_document(f"d{n}", content) for n, content in enumerate(contents)]
    retriever = get_retriever(name)
    retriever.prepare(several)
    whole = [retriever.score(several[0], target) for target in several]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lexical, "BLOCK", 1)
        in_steps = [retriever.score(several[0], target) for target in several]
    for one, other in zip(whole, in_steps, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


@given(documents)
def test_stemmed_bm25_has_one_idf_over_all_distinct_sentences(contents):
    several = [scripted_document(f"d{n}", content) for n, content in enumerate(contents)]
    retriever = get_retriever("bm25-stemmed")
    retriever.prepare(several)
    distinct = [set(NORMALISING(text)) for text in {text for content in contents for text in content}]

    def idf(term):
        n = sum(term in one for one in distinct)
        return math.log(1 + (len(distinct) - n + 0.5) / (n + 0.5))

    source = several[0]
    for target in several:
        lists = [NORMALISING(text) for text in target.texts]
        mean = sum(map(len, lists)) / len(lists)
        expected = [
            [
                sum(
                    idf(term) * other.count(term) * 2.2 / (other.count(term) + 1.2 * (0.25 + 0.75 * len(other) / mean))
                    for term in one
                    if term in other
                )
                for other in lists
            ]
            for one in map(NORMALISING, source.texts)
        ]
        np.testing.assert_allclose(retriever.score(source, target), expected, atol=1e-9)


@given(documents, st.sampled_from(LEXICAL), st.integers(1, 30))
@example([["The The Fire the fire"], ["", "", "The The don't", "The The the Fire", "The the fire fires"]], "bm25", 1)
def test_identical_sentences_have_identical_scores_and_keep_document_order(contents, name, cutoff):
    a, b = scripted_document("a", contents[0]), scripted_document("b", contents[1] * 3)
    corpus = Corpus(name="c", documents={"a": a, "b": b}, pairs=[Pair(id="p", source="a", target="b")])
    retriever = get_retriever(name)
    table = rank_corpus(corpus, retriever).astype({"source": str, "target": str})
    scores = retriever.score(a, b)
    for text in set(contents[1]):
        places = [place for place, other in enumerate(b.texts) if other == text]
        assert (scores[:, places] == scores[:, places[:1]]).all()
        for _, of_source in table.groupby("source"):
            order = [int(target[1:]) for target in of_source["target"] if int(target[1:]) in places]
            assert order == places
    (links,) = top_k(table.assign(pair="p"), cutoff).values()
    assert {len(targets) for targets in links.values()} == {min(cutoff, len(b.sentences))}


def test_an_unprepared_pair_has_no_scores():
    one, other = scripted_document("a", ["x"]), scripted_document("b", ["y"])
    for name in LEXICAL:
        retriever = get_retriever(name)
        retriever.prepare([one, other])
        retriever.prepare([one])
        with pytest.raises(KeyError):
            retriever.score(one, other)
