"""A synthetic corpus beside natural documents: distributions of style, link statistics, and what is out of bounds.

The measures are about style; they say nothing about whether the links are right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np
from pydantic import Field, model_validator

from abcdlink.corpus.counts import CorpusCounts, count
from abcdlink.corpus.records import Corpus, Document, Record
from abcdlink.domain import Domain, ValidationThresholds
from abcdlink.languages import ENGLISH, share_copied, words
from abcdlink.validation.style import MEASURES, Classifier, Style, style_of

__all__ = ["MEASURES", "Style", "StyleDifference", "Validation", "cliffs_delta", "style_of", "validate"]

SYNTHETIC, NATURAL = "synthetic", "natural"
RESAMPLES = 2_000
CELLS_AT_ONCE = 4_000_000


class StyleDifference(Record):
    """How the documents of the synthetic corpus differ from those of another one by one measure.

    ``delta``: Cliff's delta (Cliff 1993), the share of pairs of documents in which the synthetic one has the higher
    value, minus the share in which it has the lower one; 0: no difference, 1 or -1: no overlap. ``interval``: 95 %,
    both sets of documents resampled.
    """

    measure: str
    corpus: str
    synthetic_mean: float
    mean: float
    delta: float
    interval: tuple[float, float]

    @property
    def row(self) -> dict[str, str]:
        """The difference, as a row of a table."""
        return {
            "measure": MEASURES[self.measure],
            "against": self.corpus,
            "synthetic": f"{self.synthetic_mean:.2f}",
            "other": f"{self.mean:.2f}",
            "Cliff's delta": f"{self.delta:.2f}",
            "95 % interval": "{:.2f} to {:.2f}".format(*self.interval),
        }


class Validation(Record):
    """Measures of a synthetic corpus beside natural documents.

    ``overlap``: mean over the links of the share of the target sentence's distinct words that its source holds too; 1
    is a copy. ``duplicates``: share of source sentences that occurred before. ``styles`` and ``counts``: name of a
    corpus -> its source documents, and its documents and links in numbers. ``flags``: what is out of the domain's
    bounds, in words. ``notes``: what could not be measured, and why.
    """

    pairs: int
    links: int
    overlap: float | None
    duplicates: float | None
    styles: dict[str, Style] = Field(default_factory=dict)
    counts: dict[str, CorpusCounts] = Field(default_factory=dict)
    differences: tuple[StyleDifference, ...] = ()
    flags: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _read_earlier(cls, data: Any) -> Any:  # noqa: ANN401 - whatever is to be validated
        """Read what earlier versions stored: the means of two corpora, which the styles give too."""
        former = {"sources_with_links", "links_per_source", "synthetic", "natural"}
        return {name: value for name, value in data.items() if name not in former} if isinstance(data, dict) else data

    @property
    def measures(self) -> dict[str, float | int | None]:
        """All measures of a table: those of the pairs, then the mean of each measure of style by corpus."""
        plain = {name: getattr(self, name) for name in ("pairs", "links", "overlap", "duplicates")}
        return plain | {
            f"{MEASURES[name]}, {corpus}": style.mean(name)
            for name in MEASURES
            for corpus, style in self.styles.items()
            if name in style.values
        }


def validate(
    synthetic: Corpus,
    natural: Corpus,
    domain: Domain,
    beside: Mapping[str, Corpus] | None = None,
    language: str = ENGLISH,
    classifier: Classifier | None = None,
) -> Validation:
    """Measure a synthetic corpus and compare its source documents with those of other corpora.

    These are the natural one (all its documents when it has no pairs) and those ``beside``, by name. The domain gives
    the bounds (``[validation]`` in ``domain.toml``); ``classifier``: see ``style_of``.
    """
    corpora = {SYNTHETIC: synthetic, NATURAL: natural, **(beside or {})}
    styles = {name: style_of(_sources(corpus), language, classifier) for name, corpus in corpora.items()}
    links = list(_linked_texts(synthetic))
    measures = Validation(
        pairs=len(synthetic.pairs),
        links=len(links),
        overlap=fmean(share_copied(target, source) for source, target in links) if links else None,
        duplicates=_duplicates(_sources(synthetic)),
        styles=styles,
        counts={name: count(corpus) for name, corpus in corpora.items()},
        differences=tuple(_differences(styles)),
    )
    return measures.model_copy(update={"flags": tuple(_flags(measures, domain.settings.validation))})


def _sources(corpus: Corpus) -> list[Document]:
    """Return the source documents of a corpus, each once; all documents of one without pairs."""
    sources = dict.fromkeys(pair.source for pair in corpus.pairs)
    return [corpus.documents[name] for name in sources] or list(corpus.documents.values())


def _differences(styles: Mapping[str, Style]) -> Iterator[StyleDifference]:
    ours = styles[SYNTHETIC]
    for name in MEASURES:
        values = ours.defined(name)
        for corpus, style in styles.items():
            others = style.defined(name)
            if corpus == SYNTHETIC or not values or not others:
                continue
            delta, interval = cliffs_delta(values, others)
            yield StyleDifference(
                measure=name,
                corpus=corpus,
                synthetic_mean=fmean(values),
                mean=fmean(others),
                delta=delta,
                interval=interval,
            )


def cliffs_delta(first: Sequence[float], second: Sequence[float]) -> tuple[float, tuple[float, float]]:
    """Return Cliff's delta of two samples, none of them empty, with its 95 % percentile interval by bootstrap."""
    signs = np.sign(np.subtract.outer(np.asarray(first), np.asarray(second))).astype(np.float64)
    random = np.random.default_rng(0)
    rows, columns = signs.shape
    size = max(1, CELLS_AT_ONCE // max(rows, columns))
    deltas = []
    for start in range(0, RESAMPLES, size):
        many = min(size, RESAMPLES - start)
        by_row = random.multinomial(rows, np.full(rows, 1 / rows), size=many)
        by_column = random.multinomial(columns, np.full(columns, 1 / columns), size=many)
        deltas.append(((by_row @ signs) * by_column).sum(axis=1) / (rows * columns))
    low, high = np.percentile(np.concatenate(deltas), (2.5, 97.5))
    return float(signs.mean()), (float(low), float(high))


def _linked_texts(corpus: Corpus) -> Iterator[tuple[str, str]]:
    for pair in corpus.pairs:
        source, target = corpus.source_of(pair), corpus.target_of(pair)
        for asked, found in pair.sources_with_links.items():
            yield from ((source.text_of(asked), target.text_of(i)) for i in found)


def _duplicates(documents: Sequence[Document]) -> float | None:
    texts = [" ".join(words(text)) for document in documents for text in document.texts]
    return 1 - len(set(texts)) / len(texts) if texts else None


def _flags(measures: Validation, limits: ValidationThresholds) -> Iterator[str]:
    if not measures.pairs:
        yield "there are no synthetic pairs"
    elif not measures.links:
        yield "there are no links in the synthetic pairs"
    if measures.overlap is not None and measures.overlap > limits.max_overlap:
        yield (
            f"linked sources repeat {measures.overlap:.0%} of the words of their targets"
            f" (at most {limits.max_overlap:.0%}): they are too easy to find"
        )
    if measures.duplicates is not None and measures.duplicates > limits.max_duplicates:
        yield (
            f"{measures.duplicates:.0%} of the source sentences occurred before"
            f" (at most {limits.max_duplicates:.0%}): the model repeats itself"
        )
    means = {name: style.mean("sentence_length") for name, style in measures.styles.items()}
    yield from _length_flag(means[SYNTHETIC], means[NATURAL], limits)


def _length_flag(written: float | None, natural: float | None, limits: ValidationThresholds) -> Iterator[str]:
    if not natural:
        yield "there are no natural documents to compare with"
        return
    low, high = limits.length_ratio
    if written is not None and not low <= written / natural <= high:
        kind = "shorter" if written < natural else "longer"
        yield (
            f"synthetic sentences are much {kind} than natural ones: {written:.1f} words against {natural:.1f}"
            f" (allowed: {low:g} to {high:g} times)"
        )
