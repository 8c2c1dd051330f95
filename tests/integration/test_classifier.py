"""Subjectivity by a text classifier."""

import pytest

from abcdlink.errors import InputError
from abcdlink.validation import style_of
from abcdlink.validation.style import load_classifier
from tests.helpers.builders import document
from tests.helpers.tiny_models import tiny_bert


def test_any_text_classifier_measures_subjectivity(tmp_path):
    labels = {"id2label": {0: "NEUTRAL", 1: "SUBJECTIVE"}, "label2id": {"NEUTRAL": 0, "SUBJECTIVE": 1}}
    folder = tiny_bert(tmp_path / "model", "BertForSequenceClassification", num_labels=2, **labels)
    classify = load_classifier(str(folder))
    subjective, neutral = (
        classify(["fire", "the price rose"]),
        load_classifier(str(folder), "NEUTRAL")(["fire", "the price rose"]),
    )
    assert [a + b for a, b in zip(subjective, neutral, strict=True)] == [pytest.approx(1)] * 2
    assert classify(["fire"]) == pytest.approx(subjective[:1])
    assert style_of([document("d", ["fire", "the price rose"])], classifier=classify).values["subjectivity"] == (
        pytest.approx(sum(subjective) / 2),
    )
    with pytest.raises(InputError, match="'NEUTRAL', 'SUBJECTIVE'"):
        load_classifier(str(folder), "opinion")
