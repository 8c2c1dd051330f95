"""Retrievers with tiny random models: loading, and scores against plain computations."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from abcdlink.errors import InputError
from abcdlink.retrieval import get_retriever, models
from tests.helpers.homes import configure
from tests.helpers.tiny_models import (
    SOURCE,
    TARGET,
    WORDS,
    close,
    first,
    hidden,
    mean,
    products,
    scores,
    tiny_bert,
    unit,
)


@pytest.mark.parametrize("name", ["all-minilm-l6-v2", "all-mpnet-base-v2", "bge-m3"])
def test_dense_scores_are_cosines(name, sentence_model, as_hub):
    as_hub(name, hub=sentence_model)
    retriever = get_retriever(name)
    close(scores(retriever), products(*[lambda text: unit(mean(sentence_model, text))] * 2))
    assert retriever.name == name


@pytest.mark.parametrize("released", [False, True])
@pytest.mark.parametrize(("name", "vector"), [("contriever", mean), ("dragon-plus", first)])
def test_contriever_compares_mean_vectors_and_dragon_plus_first_tokens_of_two_encoders(
    name, vector, released, bert, tmp_path, as_hub
):
    """By dot product; the released scripts by cosine."""
    other = tiny_bert(tmp_path / "other", "BertModel", seed=1) if name == "dragon-plus" else bert
    name, scaled = (name + models.RELEASED, unit) if released else (name, np.asarray)
    as_hub(name, hub=bert, target_hub="" if other is bert else other)
    expected = products(lambda text: scaled(vector(bert, text)), lambda text: scaled(vector(other, text)))
    close(scores(get_retriever(name)), expected)


def test_sfr_mistral_has_an_instruction_before_source_sentences_only(sentence_model, as_hub):
    as_hub("sfr-mistral", hub=sentence_model, instruction="query: ")
    expected = products(
        lambda text: unit(mean(sentence_model, "query: " + text)), lambda text: unit(mean(sentence_model, text))
    )
    close(scores(get_retriever("sfr-mistral")), expected)


def test_any_model_is_used_as_its_files_say(sentence_model, tmp_path):
    folder = shutil.copytree(sentence_model, tmp_path / "asymmetric")
    path = folder / "config_sentence_transformers.json"
    said = json.loads(path.read_text()) | {"similarity_fn_name": "dot", "prompts": {"query": "query:", "document": ""}}
    path.write_text(json.dumps(said))
    expected = products(lambda text: mean(folder, "query:" + text), lambda text: mean(folder, text))
    close(scores(get_retriever(f"st:{folder}")), expected)
    path.write_text(json.dumps(said | {"similarity_fn_name": "euclidean"}))
    with pytest.raises(InputError, match="euclidean"):
        get_retriever(f"st:{folder}")


@pytest.mark.parametrize("name", ["splade-v3", "splade-v3-released", "sparse:"])
def test_splade_is_the_largest_logarithm_of_each_word_over_the_tokens(name, masked_model, as_hub):
    if name.endswith(":"):
        name += str(masked_model)
    else:
        as_hub(name, hub=masked_model)

    def splade(text):
        logits, _ = hidden(masked_model, text, "AutoModelForMaskedLM")
        vector = np.log1p(np.maximum(logits, 0)).max(0)
        return unit(vector) if name.endswith(models.RELEASED) else vector

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


def test_a_classifier_with_several_labels_is_not_a_retriever(tmp_path):
    folder = tiny_bert(tmp_path / "classes", "BertForSequenceClassification", num_labels=3)
    with pytest.raises(InputError, match="gives 3 scores"):
        get_retriever(f"ce:{folder}").prepare([SOURCE])


@pytest.mark.parametrize("prefix", ["ce", "sparse"])
def test_a_model_without_the_required_head_is_refused_not_given_a_random_one(prefix, bert):
    with pytest.raises(InputError, match="was not trained as a"):
        get_retriever(f"{prefix}:{bert}").prepare([SOURCE])


def test_a_sparse_model_saved_by_sentence_transformers_is_recognised(masked_model, tmp_path):
    from sentence_transformers import SparseEncoder

    SparseEncoder(str(masked_model), device="cpu").save(str(tmp_path / "saved"))
    close(scores(get_retriever(f"sparse:{tmp_path / 'saved'}")), scores(get_retriever(f"sparse:{masked_model}")))


def test_a_deeply_nested_model_can_be_used(sentence_model, tmp_path):
    folder = tmp_path.joinpath(*["a folder with a long name"] * 10)
    shutil.copytree(sentence_model, folder)
    close(scores(get_retriever(f"st:{folder}")), scores(get_retriever(f"st:{sentence_model}")))


def test_a_missing_device_is_one_clear_error(sentence_model, monkeypatch):
    configure(monkeypatch, device="abacus")
    with pytest.raises(InputError, match="ABCDLINK_DEVICE"):
        scores(get_retriever(f"st:{sentence_model}"))
