"""Measures of style, one value a document.

- type-token ratio: mean share of distinct words in whole segments of 100 words; the ratio of a whole text falls with
  its length. A document of fewer words is one segment.
- MTLD (McCarthy and Jarvis 2010, "MTLD, vocd-D, and HD-D"): mean number of words in a row with a type-token ratio
  above 0.72, forwards and backwards; from ``lexicalrichness``.
- Flesch reading ease (Flesch 1948; for other languages the formulas that ``textstat`` has for them): higher is easier.
- subjectivity: mean over the sentences of the probability of the label for subjective, by a text classifier.
- subjectivity by lexicon: mean of the word list of ``textblob`` (that of ``pattern``), English only. It is another
  measure than the classifier's and is shown beside it, never in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

from abcdlink.corpus.records import Document, Record
from abcdlink.errors import InputError
from abcdlink.languages import ENGLISH, word_count, words

SEGMENT = 100
"""Words in a segment of the type-token ratio."""
MTLD_THRESHOLD = 0.72
MTLD_LEAST = 50
"""Words below which MTLD says nothing: hardly any text of this length reaches the threshold once."""
FLESCH_LANGUAGES = ("en", "de", "es", "fr", "it", "nl", "ru", "hu")
"""Those for which ``textstat`` has a formula."""

SUBJECTIVITY = "subjectivity"
MEASURES = {
    "sentences": "sentences",
    "sentence_length": "words of a sentence",
    "type_token_ratio": "type-token ratio, by 100 words",
    "mtld": "lexical diversity (MTLD)",
    "flesch": "Flesch reading ease",
    SUBJECTIVITY: "subjectivity (classifier)",
    "subjectivity_lexicon": "subjectivity (lexicon)",
}
"""Name of a measure -> what it is called in tables and pictures."""

Classifier = Callable[[Sequence[str]], list[float]]
"""Gives the probability that a text is subjective, for each of several."""


class Style(Record):
    """The values of some documents: measure -> one value a document, ``None`` where the measure is undefined."""

    documents: tuple[str, ...]
    values: dict[str, tuple[float | None, ...]]

    def defined(self, measure: str) -> list[float]:
        """Return the values of a measure that are defined."""
        return [value for value in self.values.get(measure, ()) if value is not None]

    def mean(self, measure: str) -> float | None:
        """Return the mean over documents."""
        values = self.defined(measure)
        return fmean(values) if values else None


def style_of(documents: Sequence[Document], language: str = ENGLISH, classifier: Classifier | None = None) -> Style:
    """Measure some documents, whose order the values keep; formulas for other languages are left out.

    ``classifier``: gives the probability that a text is subjective; ``None``: that measure is left out.
    """
    measures: dict[str, Callable[[Document], float | None]] = {
        "sentences": lambda one: float(len(one.sentences)),
        "sentence_length": lambda one: fmean(word_count(text) for text in one.texts),
        "type_token_ratio": type_token_ratio,
        "mtld": mtld,
    }
    if language in FLESCH_LANGUAGES:
        measures["flesch"] = lambda one: flesch(one, language)
    if classifier is not None:
        measures[SUBJECTIVITY] = lambda one: fmean(classifier(one.texts))
    if language == ENGLISH:
        measures["subjectivity_lexicon"] = lexicon_subjectivity
    return Style(
        documents=tuple(one.id for one in documents),
        values={name: tuple(measure(one) for one in documents) for name, measure in measures.items()},
    )


def text_of(document: Document) -> str:
    """Return a document as one text, its sentences with one blank between them."""
    return " ".join(" ".join(text.split()) for text in document.texts)


def _words(document: Document) -> list[str]:
    return [word for text in document.texts for word in words(text)]


def type_token_ratio(document: Document) -> float | None:
    """Return the mean share of distinct words in each whole segment, or in all when it is shorter than one."""
    said = _words(document)
    starts = range(0, len(said) - SEGMENT + 1, SEGMENT) if len(said) >= SEGMENT else range(1)
    segments = [segment for start in starts if (segment := said[start : start + SEGMENT])]
    return fmean(len(set(segment)) / len(segment) for segment in segments) if segments else None


def mtld(document: Document) -> float | None:
    """Return MTLD of the words in lower case; ``None`` for fewer than 50."""
    said = _words(document)
    if len(said) < MTLD_LEAST:
        return None
    from lexicalrichness import LexicalRichness

    return float(LexicalRichness(said, preprocessor=None, tokenizer=None).mtld(threshold=MTLD_THRESHOLD))


def flesch(document: Document, language: str = ENGLISH) -> float | None:
    """Return Flesch reading ease of the document as one text; ``None`` when it has no word."""
    text = text_of(document)
    if not words(text):
        return None
    from textstat import textstat

    textstat.set_lang(language)
    return float(textstat.flesch_reading_ease(text))


def lexicon_subjectivity(document: Document) -> float:
    """Return the mean subjectivity of the words of textblob's lexicon in the text, from 0 to 1; 0 without any."""
    from textblob import TextBlob

    return float(TextBlob(text_of(document)).sentiment.subjectivity)


def load_classifier(model: str, label: str = "") -> Classifier:
    """Return a text classifier, a folder or a name on the Hugging Face hub, as a measure of subjectivity.

    ``label``: its label for subjective texts; empty: the one label that begins with "subj".

    Raises:
        InputError: when the model is not on this machine, or it is not clear which label means subjective.
    """
    from abcdlink.retrieval.models import locate

    folder = locate(model)
    from transformers import pipeline

    classify = pipeline("text-classification", model=str(folder), device=-1)
    labels = [str(name) for name in (classify.model.config.id2label or {}).values()]
    chosen = [name for name in labels if name == label or (not label and name.casefold().startswith("subj"))]
    if len(chosen) != 1:
        msg = f"the classifier {model} has the labels {', '.join(map(repr, labels))}, but not {label or 'subj...'}"
        raise InputError(msg, "set subjectivity_label in [validation] of domain.toml to the one for subjective texts")

    def probabilities(texts: Sequence[str]) -> list[float]:
        given = [text if text.strip() else "." for text in texts]
        rows: list[Any] = classify(given, top_k=None, truncation=True, batch_size=32)
        return [next(float(one["score"]) for one in row if one["label"] == chosen[0]) for row in rows]

    return probabilities
