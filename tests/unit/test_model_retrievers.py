"""Retrievers with a model, on tiny random models: loading and scores against plain computations, the store."""

from __future__ import annotations

import json
import re
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scripted import document

from abcdlink.errors import InputError
from abcdlink.retrieval import RETRIEVERS, encoders, get_retriever, models
from abcdlink.settings import get_settings
from flows.parameters import RetrieverName

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "fire", "smoke", "price", "rose", "the", "query", ":"]
SENTENCES = ["fire", "the price rose", "smoke", "fire", "smoke the fire"]
SOURCE, TARGET = document("a", SENTENCES[:2]), document("b", SENTENCES[1:])


def tiny_bert(folder, head, seed=0, **changes):
    """Save a random BERT of one layer with its tokenizer as transformers does."""
    import torch
    import transformers

    folder.mkdir(parents=True)
    (folder / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(seed)
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    # Bigger weights than usual, so that sentences differ by more than rounding.
    config = transformers.BertConfig(vocab_size=len(WORDS), initializer_range=0.5, **shape, **changes)
    getattr(transformers, head)(config).eval().save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return tiny_bert(tmp_path_factory.mktemp("bert") / "model", "BertModel")


@pytest.fixture(scope="module")
def sentence_model(bert, tmp_path_factory):
    """A sentence encoder with mean pooling, saved as sentence-transformers does."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    folder = tmp_path_factory.mktemp("st") / "model"
    SentenceTransformer(modules=[Transformer(str(bert)), Pooling(16, "mean")], device="cpu").save(str(folder))
    return folder


@pytest.fixture(scope="module")
def masked_model(tmp_path_factory):
    return tiny_bert(tmp_path_factory.mktemp("mlm") / "model", "BertForMaskedLM")


@pytest.fixture
def as_hub(monkeypatch):
    """Give the models of the table local folders, and nothing else."""

    def put(name, **folders):
        monkeypatch.setitem(
            models.MODELS, name, models.MODELS[name]._replace(**{k: str(v) for k, v in folders.items()}, package="")
        )

    return put


def hidden(folder, text, head="AutoModel"):
    """Return the model's output for one text, and the token ids: no batch, so no padding."""
    import torch
    import transformers

    tokens = transformers.AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt")
    with torch.inference_mode():
        output = getattr(transformers, head).from_pretrained(folder).eval()(**tokens)
    return output[0][0].numpy(), tokens["input_ids"][0].numpy()


def mean(folder, text):
    return hidden(folder, text)[0].mean(0)


def first(folder, text):
    return hidden(folder, text)[0][0]


def unit(vector):
    return vector / np.linalg.norm(vector)


def scores(retriever):
    retriever.prepare([SOURCE, TARGET])
    return retriever.score(SOURCE, TARGET)


def products(source, target):
    return [[source(one) @ target(other) for other in TARGET.texts] for one in SOURCE.texts]


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-4)
    assert np.ptp(expected) > 0.01, "the expected scores are all alike: nothing is tested"


@pytest.mark.parametrize("name", ["all-minilm-l6-v2", "all-mpnet-base-v2", "bge-m3"])
def test_dense_scores_are_cosines(name, sentence_model, as_hub):
    as_hub(name, hub=sentence_model)
    retriever = get_retriever(name)
    close(scores(retriever), products(*[lambda text: unit(mean(sentence_model, text))] * 2))
    assert retriever.name == name


def test_contriever_is_the_dot_product_of_mean_vectors_without_files_of_sentence_transformers(bert, as_hub):
    as_hub("contriever", hub=bert)
    close(scores(get_retriever("contriever")), products(*[lambda text: mean(bert, text)] * 2))


def test_dragon_plus_has_two_encoders_and_takes_the_first_token(bert, tmp_path, as_hub):
    other = tiny_bert(tmp_path / "other", "BertModel", seed=1)
    as_hub("dragon-plus", hub=bert, target_hub=other)
    close(
        scores(get_retriever("dragon-plus")), products(lambda text: first(bert, text), lambda text: first(other, text))
    )


def test_sfr_mistral_has_an_instruction_before_source_sentences_only(sentence_model, as_hub):
    as_hub("sfr-mistral", hub=sentence_model, instruction="query: ")
    expected = products(
        lambda text: unit(mean(sentence_model, "query: " + text)), lambda text: unit(mean(sentence_model, text))
    )
    close(scores(get_retriever("sfr-mistral")), expected)


def test_any_model_is_used_as_its_own_files_say(sentence_model, tmp_path):
    folder = shutil.copytree(sentence_model, tmp_path / "asymmetric")
    path = folder / "config_sentence_transformers.json"
    said = json.loads(path.read_text()) | {"similarity_fn_name": "dot", "prompts": {"query": "query:", "document": ""}}
    path.write_text(json.dumps(said))
    expected = products(lambda text: mean(folder, "query:" + text), lambda text: mean(folder, text))
    close(scores(get_retriever(f"st:{folder}")), expected)
    path.write_text(json.dumps(said | {"similarity_fn_name": "euclidean"}))
    with pytest.raises(InputError, match="euclidean"):
        get_retriever(f"st:{folder}")


@pytest.mark.parametrize("name", ["splade-v3", "sparse:"])
def test_splade_is_the_largest_logarithm_of_each_word_over_the_tokens(name, masked_model, as_hub):
    if name.endswith(":"):
        name += str(masked_model)
    else:
        as_hub(name, hub=masked_model)

    def splade(text):
        logits, _ = hidden(masked_model, text, "AutoModelForMaskedLM")
        return np.log1p(np.maximum(logits, 0)).max(0)

    close(scores(get_retriever(name)), products(splade, splade))


def test_bge_m3_sparse_weighs_tokens_and_leaves_special_ones_out(bert, tmp_path, as_hub):
    import torch

    folder = shutil.copytree(bert, tmp_path / "m3")
    torch.manual_seed(3)
    linear = torch.nn.Linear(16, 1)
    torch.nn.init.ones_(linear.bias)
    torch.save(linear.state_dict(), folder / "sparse_linear.pt")
    as_hub("bge-m3-sparse", hub=folder)

    def weights(text):
        vectors, tokens = hidden(folder, text)
        vector = np.zeros(len(WORDS))
        for token, weight in zip(tokens, linear(torch.tensor(vectors)).detach().numpy()[:, 0], strict=True):
            if token >= WORDS.index("fire"):
                vector[token] = max(vector[token], weight)
        return vector

    close(scores(get_retriever("bge-m3-sparse")), products(weights, weights))


@pytest.mark.parametrize("name", ["bge-reranker-v2-m3", "ms-marco-minilm-l6-v2", "ce:"])
def test_a_cross_encoder_reads_both_sentences_and_gives_logits(name, tmp_path, as_hub):
    import torch
    import transformers

    folder = tiny_bert(tmp_path / "cross", "BertForSequenceClassification", num_labels=1)
    if name.endswith(":"):
        name += str(folder)
    else:
        as_hub(name, hub=folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.inference_mode():
        expected = [
            [model(**tokenizer(one, other, return_tensors="pt")).logits.item() for other in TARGET.texts]
            for one in SOURCE.texts
        ]
    close(scores(get_retriever(name)), expected)


def test_a_classifier_with_several_labels_is_no_retriever(tmp_path):
    folder = tiny_bert(tmp_path / "classes", "BertForSequenceClassification", num_labels=3)
    with pytest.raises(InputError, match="gives 3 scores"):
        get_retriever(f"ce:{folder}").prepare([SOURCE])


@pytest.mark.parametrize("prefix", ["ce", "sparse"])
def test_a_model_without_the_head_that_is_needed_is_refused_and_gets_no_random_one(prefix, bert):
    with pytest.raises(InputError, match="was not trained as what it is used as"):
        get_retriever(f"{prefix}:{bert}").prepare([SOURCE])


def test_a_sparse_model_saved_by_sentence_transformers_is_one(masked_model, tmp_path):
    from sentence_transformers import SparseEncoder

    SparseEncoder(str(masked_model), device="cpu").save(str(tmp_path / "saved"))
    close(scores(get_retriever(f"sparse:{tmp_path / 'saved'}")), scores(get_retriever(f"sparse:{masked_model}")))


def test_a_model_far_down_in_the_folders_can_be_used(sentence_model, tmp_path):
    folder = tmp_path.joinpath(*["a folder with a long name"] * 10)
    shutil.copytree(sentence_model, folder)
    close(scores(get_retriever(f"st:{folder}")), scores(get_retriever(f"st:{sentence_model}")))


def test_a_download_that_fails_says_why(tmp_path, monkeypatch):
    def unreachable(*_, **options):
        assert options["local_files_only"] is False
        msg = "no such host\nand more"
        raise ConnectionError(msg)

    monkeypatch.setenv("ABCDLINK_HUB", "online")
    get_settings.cache_clear()
    monkeypatch.setattr("huggingface_hub.snapshot_download", unreachable)
    with pytest.raises(InputError, match=r"cannot be downloaded \(no such host\)"):
        get_retriever("splade-v3")


def test_a_sentence_is_encoded_once_and_kept_on_disk(sentence_model, tmp_path, monkeypatch):
    folder = shutil.copytree(sentence_model, tmp_path / "model")
    before = scores(get_retriever(f"st:{folder}"))
    kept = get_retriever(f"st:{folder}")
    shutil.rmtree(folder)
    encoders._load.cache_clear()
    np.testing.assert_array_equal(scores(kept), before)
    with pytest.raises(InputError, match=re.escape(f"{folder} cannot be loaded")):
        kept.prepare([document("c", ["rose"])])


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


def test_the_fingerprint_sees_a_change_of_weights_and_not_the_place(bert, tmp_path):
    copy = shutil.copytree(bert, tmp_path / "copy")
    assert models.fingerprint(copy) == models.fingerprint(bert)
    big = tmp_path / "big"
    big.mkdir()
    (big / "weights").write_bytes(bytes(10**6))
    before = models.fingerprint(big)
    (big / "weights").write_bytes(bytes(10**6 - 1) + b"1")
    assert models.fingerprint(big) != before


def test_long_sentences_are_cut_at_the_maximum_length(bert, as_hub):
    as_hub("contriever", hub=bert)
    retriever = get_retriever("contriever")
    long, longer = "fire " * 510, "fire " * 510 + "price rose " * 500
    retriever.prepare([document("l", [long, longer])])
    product = retriever.score(*[document("l", [long, longer])] * 2)
    np.testing.assert_allclose(product, product[0, 0], rtol=1e-4)


LONG = ["fire smoke price rose the query", "fire smoke price rose the query fire", "smoke", "the " * 20]
"""With [CLS] and [SEP] 8, 9, 3 and 22 tokens."""
LIMIT = 8


@pytest.fixture
def short(tmp_path):
    """A model that cuts at 8 tokens."""
    return tiny_bert(tmp_path / "short", "BertModel", max_position_embeddings=LIMIT)


def lengths(folder, texts):
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    return [len(tokenizer(*text)["input_ids"]) for text in texts]


def test_sentences_that_are_cut_are_counted_when_they_are_embedded_and_when_they_are_found(short):
    expected = sum(length > LIMIT for length in lengths(short, [(text,) for text in LONG]))
    assert expected == 2
    for name in (f"st:{short}", f"st:{short}"):
        retriever = get_retriever(name)
        retriever.prepare([document("l", [*LONG, *LONG])])
        assert (retriever.effort.cut, retriever.effort.cut_pairs, retriever.effort.max_length) == (expected, 0, LIMIT)
    retriever.prepare([document("s", ["smoke", LONG[0]])])
    assert (retriever.effort.cut, retriever.effort.max_length) == (0, LIMIT)


def test_an_instruction_counts_towards_the_length_of_source_sentences(bert, sentence_model, as_hub, monkeypatch):
    as_hub("sfr-mistral", hub=sentence_model, instruction="query: ")
    monkeypatch.setitem(models.MODELS, "sfr-mistral", models.MODELS["sfr-mistral"]._replace(max_length=LIMIT))
    retriever = get_retriever("sfr-mistral")
    retriever.prepare([document("l", LONG)])
    assert lengths(bert, [(f"query: {text}",) for text in LONG]) == [10, 11, 5, 24]
    assert retriever.effort.cut == 3
    assert retriever.effort.max_length == LIMIT


def test_a_sentence_that_either_of_two_encoders_cuts_counts_once(bert, short, as_hub, monkeypatch):
    as_hub("dragon-plus", hub=bert, target_hub=short)
    for limit, expected in ((LIMIT, 2), (6, 3)):
        monkeypatch.setitem(models.MODELS, "dragon-plus", models.MODELS["dragon-plus"]._replace(max_length=limit))
        retriever = get_retriever("dragon-plus")
        retriever.prepare([document("l", LONG)])
        assert (retriever.effort.cut, retriever.effort.max_length) == (expected, limit)


def test_sparse_models_count_too(tmp_path):
    folder = tiny_bert(tmp_path / "mlm", "BertForMaskedLM", max_position_embeddings=LIMIT)
    retriever = get_retriever(f"sparse:{folder}")
    retriever.prepare([document("l", LONG)])
    assert (retriever.effort.cut, retriever.effort.max_length) == (2, LIMIT)


def test_a_cross_encoder_counts_pairs_of_sentences_since_it_was_prepared(tmp_path):
    folder = tiny_bert(tmp_path / "cross", "BertForSequenceClassification", num_labels=1, max_position_embeddings=LIMIT)
    source, target = (
        document("a", ["fire", "smoke", "fire smoke price"]),
        document("b", ["the", "fire rose the", "rose"]),
    )
    both = lengths(folder, [(one, other) for one in source.texts for other in target.texts])
    expected = sum(length > LIMIT for length in both)
    assert 0 < expected < len(both)
    retriever = get_retriever(f"ce:{folder}")
    for _ in range(2):
        retriever.prepare([source, target])
        assert (retriever.effort.cut, retriever.effort.max_length) == (0, LIMIT)
        retriever.score(source, target)
        assert (retriever.effort.cut, retriever.effort.cut_pairs) == (expected, expected)
    retriever.score(source, target)
    assert retriever.effort.cut_pairs == 2 * expected


def test_what_was_warmed_is_found_with_its_cost(sentence_model, monkeypatch):
    name = f"st:{sentence_model}"
    cold = get_retriever(name)
    assert cold.sentences_per_part == 1000
    cold.warm([*SENTENCES, "rose"])
    assert cold.effort.kept_seconds == 0
    monkeypatch.setattr(encoders, "_load", lambda *_: pytest.fail("the model is loaded although all is there"))
    warm = get_retriever(name)
    close(scores(warm), products(*[lambda text: unit(mean(sentence_model, text))] * 2))
    part = get_retriever(name)
    part.prepare([document("c", ["rose"])])
    assert 0 < part.effort.kept_seconds < warm.effort.kept_seconds


def test_threads_can_share_a_model(sentence_model, tmp_path):
    folder = tiny_bert(tmp_path / "cross", "BertForSequenceClassification", num_labels=1)
    texts = [f"{one} {other} {last}" for one in WORDS[5:10] for other in WORDS[5:10] for last in WORDS[5:10]]
    parts = [document(f"d{start}", texts[start : start + 10]) for start in range(0, 120, 10)]

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


def test_a_fusion_loads_a_dense_model_once_though_two_parts_use_it(sentence_model, as_hub, monkeypatch):
    as_hub("all-minilm-l6-v2", hub=sentence_model)
    as_hub("bge-m3", hub=sentence_model)
    loads, make = [], encoders._dense
    monkeypatch.setattr(encoders, "_dense", lambda *use: loads.append(use) or make(*use))
    encoders._load.cache_clear()
    fusion = get_retriever("rrf:hybrid+bge-m3+2*all-minilm-l6-v2")
    assert fusion.sentences_per_part == 1000
    scores(fusion)
    assert len(loads) == 1


def test_the_hybrid_is_half_jaccard_half_bm25_and_minilm(sentence_model, as_hub):
    as_hub("all-minilm-l6-v2", hub=sentence_model)
    expected = np.zeros((len(SOURCE.texts), len(TARGET.texts)))
    for weight, name in ((0.5, "jaccard"), (0.5, "bm25-stemmed"), (1, "all-minilm-l6-v2")):
        part = scores(get_retriever(name))
        expected += weight * (part - part.mean()) / part.std()
    hybrid = get_retriever("hybrid")
    close(scores(hybrid), expected)
    assert hybrid.name == "hybrid"


def test_identical_sentences_have_identical_scores(sentence_model):
    retriever = get_retriever(f"st:{sentence_model}")
    scores_of = document("a", SENTENCES * 7)
    retriever.prepare([scores_of])
    product = retriever.score(scores_of, scores_of)
    for place, text in enumerate(scores_of.texts):
        first_place = scores_of.texts.index(text)
        assert (product[:, place] == product[:, first_place]).all()
        assert (product[place] == product[first_place]).all()


def test_a_broken_store_says_which_file_to_delete(sentence_model):
    name = f"st:{sentence_model}"
    scores(get_retriever(name))
    (store,) = get_settings().cache_root.glob("embeddings/*/*.sqlite")
    store.write_bytes(b"this is no database, and long enough to be seen as none" * 50)
    with pytest.raises(InputError, match=re.escape(f"{store} cannot be used")):
        scores(get_retriever(name))


def test_a_device_that_is_not_there_is_one_clear_error(sentence_model, monkeypatch):
    monkeypatch.setenv("ABCDLINK_DEVICE", "abacus")
    get_settings.cache_clear()
    with pytest.raises(InputError, match="ABCDLINK_DEVICE"):
        scores(get_retriever(f"st:{sentence_model}"))


@pytest.mark.parametrize(
    "name", ["splade-v3", "sfr-mistral", "dragon-plus", "bge-reranker-v2-m3", "st:no/model", "ce:./no/such/folder"]
)
def test_a_model_that_is_not_on_this_machine_says_where_it_was_looked_for_and_how_to_get_it(
    name, tmp_path, monkeypatch
):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub._snapshot_download.constants.HF_HUB_CACHE", str(tmp_path))
    hub = models.MODELS[name].hub if name in models.MODELS else name.partition(":")[2]
    with pytest.raises(InputError) as caught:
        get_retriever(name)
    assert f"{hub} is not on this machine" in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert f"hf download {hub}" in caught.value.mend
    assert "\n" not in str(caught.value)


def test_the_form_offers_every_retriever_that_has_a_name():
    assert {name.value for name in RetrieverName} == set(RETRIEVERS)
