"""Whether a synthetic corpus looks like natural documents: a few plain measures, and what is out of bounds.

The measures say something of style, nothing of whether the links are right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from pydantic import Field

from abcdlink.corpus.records import Corpus, Document, Record
from abcdlink.domain import Domain, ValidationThresholds
from abcdlink.languages import share_copied, word_count, words

SEGMENT = 100
"""Words in a segment of the type-token ratio; the ratio of whole texts falls with their length."""


class Style(Record):
    """Measures of the source documents of one corpus; ``None`` where there is nothing to measure."""

    documents: int
    sentences: int
    sentence_length: float | None = Field(description="mean words of a sentence")
    type_token_ratio: float | None = Field(description="mean share of distinct words in segments of 100 words")


class Validation(Record):
    """Measures of a synthetic corpus beside natural documents.

    ``links_per_source``: mean targets of a source with links. ``overlap``: mean over the links of the share
    of the target sentence's distinct words that its source holds too; 1 is a copy. ``duplicates``: share of
    source sentences that occurred before. ``flags``: what is out of the domain's bounds, in words.
    """

    pairs: int
    links: int
    sources_with_links: int
    links_per_source: float | None
    overlap: float | None
    duplicates: float | None
    synthetic: Style
    natural: Style
    flags: tuple[str, ...]

    @property
    def measures(self) -> dict[str, float | None]:
        """All measures by name; those of a style are named ``synthetic: ...`` and ``natural: ...``."""
        plain = self.model_dump(exclude={"synthetic", "natural", "flags"})
        styles = {"synthetic": self.synthetic, "natural": self.natural}
        parts = {f"{side}: {name}": value for side, style in styles.items() for name, value in style}
        return plain | parts


def validate(synthetic: Corpus, natural: Corpus, domain: Domain) -> Validation:
    """Measure a synthetic corpus and compare its source documents with natural ones.

    Args:
        synthetic: pairs with generated source documents.
        natural: its source documents are compared with; all its documents when it has no pairs.
        domain: gives the bounds (``[validation]`` in ``domain.toml``).
    """
    written = [synthetic.documents[i] for i in dict.fromkeys(pair.source for pair in synthetic.pairs)]
    people = [natural.documents[i] for i in dict.fromkeys(pair.source for pair in natural.pairs)]
    links = list(_linked_texts(synthetic))
    measures = Validation(
        pairs=len(synthetic.pairs),
        links=len(links),
        sources_with_links=synthetic.source_count,
        links_per_source=len(links) / synthetic.source_count if synthetic.source_count else None,
        overlap=fmean(share_copied(target, source) for source, target in links) if links else None,
        duplicates=_duplicates(written),
        synthetic=style_of(written),
        natural=style_of(people or list(natural.documents.values())),
        flags=(),
    )
    return measures.model_copy(update={"flags": tuple(_flags(measures, domain.settings.validation))})


def style_of(documents: Sequence[Document]) -> Style:
    """Measure the style of some documents."""
    lengths = [word_count(text) for document in documents for text in document.texts]
    ratios = [ratio for document in documents for ratio in _type_token_ratios(document)]
    return Style(
        documents=len(documents),
        sentences=len(lengths),
        sentence_length=fmean(lengths) if lengths else None,
        type_token_ratio=fmean(ratios) if ratios else None,
    )


def _type_token_ratios(document: Document) -> list[float]:
    """Return the share of distinct words in each whole segment, or in all when it is shorter than one."""
    said = [word for text in document.texts for word in words(text)]
    starts = range(0, len(said) - SEGMENT + 1, SEGMENT) if len(said) >= SEGMENT else range(1)
    segments = [said[start : start + SEGMENT] for start in starts]
    return [len(set(segment)) / len(segment) for segment in segments if segment]


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
    yield from _length_flag(measures.synthetic.sentence_length, measures.natural.sentence_length, limits)


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
