"""The effort of retrievers with a model: sentences embedded once and kept, sentences cut, models shared."""

from __future__ import annotations

import re
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from abcdlink.errors import InputError
from abcdlink.retrieval import encoders, get_retriever, models
from abcdlink.settings import get_settings
from tests.helpers.scripted import scripted_document
from tests.helpers.tiny_models import SENTENCES, WORDS, close, mean, products, scores, tiny_bert, unit


def test_a_sentence_is_encoded_once_and_kept_on_disk(sentence_model, tmp_path, monkeypatch):
    folder = shutil.copytree(sentence_model, tmp_path / "model")
    before = scores(get_retriever(f"st:{folder}"))
    kept = get_retriever(f"st:{folder}")
    shutil.rmtree(folder)
    encoders._load.cache_clear()
    np.testing.assert_array_equal(scores(kept), before)
    with pytest.raises(InputError, match=re.escape(f"{folder} cannot be loaded")):
        kept.prepare([scripted_document("c", ["rose"])])


def test_two_models_or_two_sides_share_no_vectors(bert, sentence_model, tmp_path, as_hub):
    folder = shutil.copytree(sentence_model, tmp_path / "model")
    before = scores(get_retriever(f"st:{folder}"))
    shutil.rmtree(folder)
    tiny_bert(folder, "BertModel", seed=5)
    encoders._load.cache_clear()  # as in another process
    assert not np.allclose(scores(get_retriever(f"st:{folder}")), before, atol=1e-3)
    as_hub("sfr-mistral", hub=sentence_model)
    scores(get_retriever("sfr-mistral"))
    assert len(list((get_settings().cache_root / "embeddings" / "sfr-mistral").iterdir())) == 2


def test_a_broken_store_says_which_file_to_delete(sentence_model):
    name = f"st:{sentence_model}"
    scores(get_retriever(name))
    (store,) = get_settings().cache_root.glob("embeddings/*/*.sqlite")
    store.write_bytes(b"this is not a database, and long enough to be seen as none" * 50)
    with pytest.raises(InputError, match=re.escape(f"{store} cannot be used")):
        scores(get_retriever(name))


def test_long_sentences_are_cut_at_the_maximum_length(bert, as_hub):
    as_hub("contriever", hub=bert)
    retriever = get_retriever("contriever")
    long, longer = "fire " * 510, "fire " * 510 + "price rose " * 500
    retriever.prepare([scripted_document("l", [long, longer])])
    product = retriever.score(*[scripted_document("l", [long, longer])] * 2)
    np.testing.assert_allclose(product, product[0, 0], rtol=1e-4)


LONG = ["fire smoke price rose the query", "fire smoke price rose the query fire", "smoke", "the " * 20]
"""With [CLS] and [SEP] 8, 9, 3 and 22 tokens."""
LIMIT = 8


@pytest.fixture
def short(tmp_path):
    """A model that truncates at 8 tokens."""
    return tiny_bert(tmp_path / "short", "BertModel", max_position_embeddings=LIMIT)


def lengths(folder, texts):
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    return [len(tokenizer(*text)["input_ids"]) for text in texts]


def test_cut_sentences_are_counted_when_embedded_and_when_found(short):
    expected = sum(length > LIMIT for length in lengths(short, [(text,) for text in LONG]))
    assert expected == 2
    for name in (f"st:{short}", f"st:{short}"):
        retriever = get_retriever(name)
        retriever.prepare([scripted_document("l", [*LONG, *LONG])])
        assert (retriever.effort.truncated, retriever.effort.truncated_pairs, retriever.effort.max_length) == (
            expected,
            0,
            LIMIT,
        )
    retriever.prepare([scripted_document("s", ["smoke", LONG[0]])])
    assert (retriever.effort.truncated, retriever.effort.max_length) == (0, LIMIT)


def test_an_instruction_counts_towards_the_length_of_source_sentences(bert, sentence_model, as_hub, monkeypatch):
    as_hub("sfr-mistral", hub=sentence_model, instruction="query: ")
    monkeypatch.setitem(models.MODELS, "sfr-mistral", models.MODELS["sfr-mistral"]._replace(max_length=LIMIT))
    retriever = get_retriever("sfr-mistral")
    retriever.prepare([scripted_document("l", LONG)])
    assert lengths(bert, [(f"query: {text}",) for text in LONG]) == [10, 11, 5, 24]
    assert retriever.effort.truncated == 3
    assert retriever.effort.max_length == LIMIT


def test_a_sentence_cut_by_either_of_two_encoders_counts_once(bert, short, as_hub, monkeypatch):
    as_hub("dragon-plus", hub=bert, target_hub=short)
    for limit, expected in ((LIMIT, 2), (6, 3)):
        monkeypatch.setitem(models.MODELS, "dragon-plus", models.MODELS["dragon-plus"]._replace(max_length=limit))
        retriever = get_retriever("dragon-plus")
        retriever.prepare([scripted_document("l", LONG)])
        assert (retriever.effort.truncated, retriever.effort.max_length) == (expected, limit)


def test_sparse_models_count_cut_sentences_too(tmp_path):
    folder = tiny_bert(tmp_path / "mlm", "BertForMaskedLM", max_position_embeddings=LIMIT)
    retriever = get_retriever(f"sparse:{folder}")
    retriever.prepare([scripted_document("l", LONG)])
    assert (retriever.effort.truncated, retriever.effort.max_length) == (2, LIMIT)


def test_a_cross_encoder_counts_sentence_pairs_since_it_was_prepared(tmp_path):
    folder = tiny_bert(tmp_path / "cross", "BertForSequenceClassification", num_labels=1, max_position_embeddings=LIMIT)
    source, target = (
        scripted_document("a", ["fire", "smoke", "fire smoke price"]),
        scripted_document("b", ["the", "fire rose the", "rose"]),
    )
    both = lengths(folder, [(one, other) for one in source.texts for other in target.texts])
    expected = sum(length > LIMIT for length in both)
    assert 0 < expected < len(both)
    retriever = get_retriever(f"ce:{folder}")
    for _ in range(2):
        retriever.prepare([source, target])
        assert (retriever.effort.truncated, retriever.effort.max_length) == (0, LIMIT)
        retriever.score(source, target)
        assert (retriever.effort.truncated, retriever.effort.truncated_pairs) == (expected, expected)
    retriever.score(source, target)
    assert retriever.effort.truncated_pairs == 2 * expected


def test_warmed_sentences_are_found_with_their_cost(sentence_model, monkeypatch):
    name = f"st:{sentence_model}"
    cold = get_retriever(name)
    assert cold.sentences_per_part == 1000
    cold.warm([*SENTENCES, "rose"])
    assert cold.effort.kept_seconds == 0
    monkeypatch.setattr(encoders, "_load", lambda *_: pytest.fail("the model is loaded although all is there"))
    warm = get_retriever(name)
    close(scores(warm), products(*[lambda text: unit(mean(sentence_model, text))] * 2))
    part = get_retriever(name)
    part.prepare([scripted_document("c", ["rose"])])
    assert 0 < part.effort.kept_seconds < warm.effort.kept_seconds


def test_threads_can_share_a_model(sentence_model, tmp_path):
    folder = tiny_bert(tmp_path / "cross", "BertForSequenceClassification", num_labels=1)
    texts = [f"{one} {other} {last}" for one in WORDS[5:10] for other in WORDS[5:10] for last in WORDS[5:10]]
    parts = [scripted_document(f"d{start}", texts[start : start + 10]) for start in range(0, 60, 10)]

    def work(part):
        results = []
        for name in (f"st:{sentence_model}", f"ce:{folder}"):
            retriever = get_retriever(name)
            retriever.prepare([part])
            results.append(retriever.score(part, part))
        return results

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(work, parts))
    for part, got in zip(parts, together, strict=True):
        for one, other in zip(got, work(part), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_a_fusion_loads_a_model_shared_by_two_parts_once(sentence_model, as_hub, monkeypatch):
    as_hub("all-minilm-l6-v2", hub=sentence_model)
    as_hub("bge-m3", hub=sentence_model)
    loads, make = [], encoders._dense
    monkeypatch.setattr(encoders, "_dense", lambda *use: loads.append(use) or make(*use))
    encoders._load.cache_clear()
    fusion = get_retriever("rrf:hybrid+bge-m3+2*all-minilm-l6-v2")
    assert fusion.sentences_per_part == 1000
    scores(fusion)
    assert len(loads) == 1


def test_identical_sentences_have_identical_scores(sentence_model):
    retriever = get_retriever(f"st:{sentence_model}")
    scores_of = scripted_document("a", SENTENCES * 7)
    retriever.prepare([scores_of])
    product = retriever.score(scores_of, scores_of)
    for place, text in enumerate(scores_of.texts):
        first_place = scores_of.texts.index(text)
        assert (product[:, place] == product[:, first_place]).all()
        assert (product[place] == product[first_place]).all()
