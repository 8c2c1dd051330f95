"""Retrievers: BM25 against rank_bm25, the hybrid's parts, embeddings and their store."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi
from scripted import Scripted, document

from abcdlink.errors import InputError
from abcdlink.retrieval import get_retriever, models, ranked
from abcdlink.retrieval.dense import Dense
from abcdlink.retrieval.embeddings import Embedder
from abcdlink.retrieval.hybrid import Hybrid, z_scores
from abcdlink.retrieval.models import ModelSource
from abcdlink.retrieval.tokens import normalising_tokenizer, paper_tokenizer
from abcdlink.settings import get_settings

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
    with pytest.raises(InputError, match=r"'bm26'.*choose one of bm25, all-minilm-l6-v2"):
        get_retriever("bm26")


def test_a_model_that_is_not_on_this_machine_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(models.MODELS, "all-mpnet-base-v2", ModelSource("abcdlink-tests/none", "fetch it first"))
    with pytest.raises(InputError, match=r"all-mpnet-base-v2 is not on this machine\. fetch it first"):
        get_retriever("all-mpnet-base-v2")


def test_importing_retrievers_and_scores_loads_nothing_heavy():
    code = (
        "import sys, abcdlink.retrieval, abcdlink.evaluation, abcdlink.linking.top_k;"
        "print({'torch', 'spacy', 'pandas', 'prefect', 'scipy', 'sentence_transformers'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "set()\n"


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory):
    """A randomly initialised sentence encoder with one layer, saved as sentence-transformers does."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder = tmp_path_factory.mktemp("model")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "fire", "smoke", "price", "rose", "the"]
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder / "bert")
    torch.manual_seed(0)
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    BertModel(BertConfig(vocab_size=len(words), **shape)).save_pretrained(folder / "bert")
    SentenceTransformer(modules=[Transformer(str(folder / "bert")), Pooling(16)], device="cpu").save(str(folder / "st"))
    return folder / "st"


SENTENCES = ["fire", "the price rose", "smoke", "fire", ""]


def test_embeddings_are_unit_vectors_and_alike_for_the_same_sentence(tiny_model):
    vectors = Embedder("tiny", tiny_model).embed(SENTENCES)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(vectors[0], vectors[3])
    assert not np.allclose(vectors[0], vectors[1])


def test_what_was_embedded_once_needs_the_model_no_more(tiny_model, tmp_path):
    from abcdlink.retrieval import embeddings

    folder = shutil.copytree(tiny_model, tmp_path / "model")
    before = Embedder("tiny", folder).embed(SENTENCES)
    shutil.rmtree(folder)
    embeddings._load.cache_clear()
    np.testing.assert_array_equal(Embedder("tiny", folder).embed(SENTENCES[::-1]), before[::-1])
    with pytest.raises(Exception, match=re.escape(str(folder))):
        Embedder("tiny", folder).embed(["rose"])


def test_the_dense_score_is_the_cosine(tiny_model):
    source, target = document("a", SENTENCES[:2]), document("b", SENTENCES[1:])
    dense = Dense(Embedder("tiny", tiny_model))
    dense.prepare([source, target])
    vectors = Embedder("tiny", tiny_model).embed(SENTENCES)
    np.testing.assert_allclose(dense.score(source, target), vectors[:2] @ vectors[1:].T, atol=1e-6)
    assert dense.name == "tiny"


def test_a_broken_store_says_which_file_to_delete(tiny_model):
    store = get_settings().cache_root / "embeddings" / "tiny" / "vectors.sqlite"
    store.parent.mkdir(parents=True)
    store.write_bytes(b"this is no database, and long enough to be seen as none" * 50)
    with pytest.raises(InputError, match=re.escape(f"{store} cannot be used")):
        Embedder("tiny", tiny_model).embed(["fire"])


def test_a_device_that_is_not_there_is_one_clear_error(tiny_model, monkeypatch):
    monkeypatch.setenv("ABCDLINK_DEVICE", "abacus")
    get_settings.cache_clear()
    with pytest.raises(InputError, match="ABCDLINK_DEVICE"):
        Embedder("tiny", tiny_model).embed(["fire"])
