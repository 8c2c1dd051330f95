"""Tiny random models and their plain outputs, for tests of retrievers with a model."""

from __future__ import annotations

from functools import cache

import numpy as np

from tests.helpers.scripted import scripted_document

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "fire", "smoke", "price", "rose", "the", "query", ":"]
SENTENCES = ["fire", "the price rose", "smoke", "fire", "smoke the fire"]
SOURCE, TARGET = scripted_document("a", SENTENCES[:2]), scripted_document("b", SENTENCES[1:])


def tiny_bert(folder, head, seed=0, **changes):
    """Save a random one-layer BERT and its tokenizer as transformers does."""
    import torch
    import transformers

    folder.mkdir(parents=True)
    (folder / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(seed)
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    # Larger weights than usual, so that sentences differ by more than rounding.
    config = transformers.BertConfig(vocab_size=len(WORDS), initializer_range=0.5, **shape, **changes)
    getattr(transformers, head)(config).eval().save_pretrained(folder)
    return folder


@cache
def plain_model(folder, head):
    """Return the tokenizer and the model of a folder, as transformers loads them."""
    import transformers

    model = getattr(transformers, head).from_pretrained(folder)
    return transformers.AutoTokenizer.from_pretrained(folder), model.eval()


def hidden(folder, text, head="AutoModel"):
    """Return the model's output for one text, and the token ids; without a batch there is no padding."""
    import torch

    tokenizer, model = plain_model(folder, head)
    tokens = tokenizer(text, return_tensors="pt")
    with torch.inference_mode():
        output = model(**tokens)
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
    assert np.ptp(expected) > 0.01, "the expected scores are all alike, so nothing is tested"
