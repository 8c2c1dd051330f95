"""What a synthetic document should be like, and what becomes of it.

Every source document gets its own size before anything is written. The sizes vary, but their means over the corpus are
those of the shape: what rounding takes from one document is given to the next.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from enum import StrEnum
from statistics import fmean, pstdev

from abcdlink.corpus.counts import count
from abcdlink.corpus.records import Corpus, Document, Pair, Record, Refusal
from abcdlink.domain import Domain, Shape
from abcdlink.errors import InputError
from abcdlink.languages import word_count
from abcdlink.llm.records import Usage

ATTEMPTS = 3
"""How often an answer is asked for, each time with another seed, before it is refused."""


class Strategy(StrEnum):
    """How a synthetic source document is written."""

    DOCUMENT = "document"
    """The model writes the whole document and its links in one answer, as in the paper."""
    SENTENCE = "sentence"
    """The model writes one sentence at a time for chosen target sentences: the links are known
    by construction, so that small models can do it too."""


class GeneratedPair(Record):
    """A synthetic pair, or why there is none.

    ``source`` and ``pair`` are there, or ``refusal`` is. ``dropped``: sentences that were refused while
    the pair stands without them. ``usage``: what all answers have cost, cached ones included.
    """

    source: Document | None = None
    pair: Pair | None = None
    refusal: Refusal | None = None
    dropped: tuple[Refusal, ...] = ()
    usage: Usage = Usage()


class Draft(Record):
    """A source document before it has ids; all numbers are 0-based positions.

    ``links``: source sentence -> target sentences. ``reason``: why there is no draft, else empty.
    """

    sentences: tuple[str, ...] = ()
    links: tuple[tuple[int, tuple[int, ...]], ...] = ()
    reason: str = ""
    dropped: tuple[Refusal, ...] = ()
    usage: Usage = Usage()


def dice(*parts: object) -> random.Random:
    """Return random numbers that depend on the given values only, in every process."""
    return random.Random("|".join(map(str, parts)))  # noqa: S311 - no secret


def seed_of(*parts: object) -> int:
    """Return a seed for the model that depends on the given values only."""
    return dice(*parts).randrange(2**31)


TOLERANCE = 0.15
"""A corpus whose mean differs from the shape by a larger share of it is shown as having missed it."""


MOST_SOURCES = 2
"""A target document with few sentences gets at most this many linked sources for each, on average."""


class Size(Record):
    """The size of one source document.

    ``targets``: for each source sentence with links, how many target sentences it links to. ``distinct``: how many
    different target sentences these are.
    """

    sentences: int
    targets: tuple[int, ...]
    distinct: int

    @property
    def linked(self) -> int:
        """How many source sentences have links."""
        return len(self.targets)

    @property
    def several(self) -> int:
        """How many source sentences link to more than one target sentence."""
        return sum(number > 1 for number in self.targets)


class ShapeRow(Record):
    """One measure of the shape: what was wanted, what was reached, and whether that is within the tolerance."""

    measure: str
    wanted: float
    reached: float
    met: bool


def usable(target: Document, domain: Domain) -> list[int]:
    """Return the positions of the target sentences that can be candidates and are long enough to be paraphrased."""
    least, left_out = domain.settings.sources.min_words, domain.settings.targets.left_out_of(target)
    return [i for i, one in enumerate(target.sentences) if word_count(one.text) >= least and one.id not in left_out]


def sizes_of(shape: Shape, targets: Mapping[str, int], seed: int) -> dict[str, Size]:
    """Return the size of the source document of each target document.

    ``targets``: how many sentences of each can be linked to; those with none are left out. The seed decides which
    document gets which size.
    """
    names = [name for name, number in targets.items() if number]
    low, high = shape.sentences
    ranks = dice(seed, "sizes").sample(range(len(names)), len(names))
    sizes: dict[str, Size] = {}
    left = {"linked": 0.0, "links": 0.0, "distinct": 0.0}

    def whole(name: str, wanted: float, least: int, most: int) -> int:
        left[name] += wanted
        taken = min(max(round(left[name]), least), most)
        left[name] -= taken
        return taken

    for name, rank in zip(names, ranks, strict=True):
        # Every length of the range is equally likely; a single document gets the middle.
        length = low - 0.5 + (high - low + 1) * (rank + 0.5) / len(names)
        sentences = min(max(round(length), low), high)
        linked = whole("linked", shape.linked * sentences, 1, min(sentences, MOST_SOURCES * targets[name]))
        links = whole("links", shape.targets * linked, linked, linked * targets[name])
        distinct = whole("distinct", links / shape.sources, -(-links // linked), min(links, targets[name]))
        counts = [1] * linked
        choice = dice(seed, "targets", name)
        for _ in range(links - linked):
            counts[choice.choice([i for i, number in enumerate(counts) if number < distinct])] += 1
        sizes[name] = Size(sentences=sentences, targets=tuple(counts), distinct=distinct)
    return sizes


def learn_shape(corpus: Corpus) -> Shape:
    """Return the shape of a corpus with links, for ``sizes_of``.

    The range of lengths has the mean and the standard deviation of the corpus, as far as there are shorter documents
    than the mean: all lengths in between will be equally likely. Pairs that nobody has annotated do not count.

    Raises:
        InputError: when no pair of the corpus has a link.
    """
    known = _with_known_links(corpus)
    found = count(known)
    if not found.links:
        msg = f"the corpus {corpus.name!r} has no links"
        raise InputError(msg, "learn the shape from a corpus with links, or leave it to the domain")
    lengths = [len(corpus.source_of(pair).sentences) for pair in known.pairs]
    mean = fmean(lengths)
    spread = max(0.0, min(3**0.5 * pstdev(lengths), mean - 2))
    return Shape(
        sentences=(max(2, round(mean - spread)), max(2, round(mean + spread))),
        linked=found.linked_source_share or 0,
        targets=found.links_per_linked_source or 1,
        sources=found.links_per_linked_target or 1,
    )


def _with_known_links(corpus: Corpus) -> Corpus:
    return corpus.model_copy(update={"pairs": [pair for pair in corpus.pairs if pair.links is not None]})


def compare_shape(shape: Shape, corpus: Corpus) -> tuple[ShapeRow, ...]:
    """Compare the wanted shape with that of a corpus, one row a measure; no rows for a corpus without links."""
    reached = count(_with_known_links(corpus))
    wanted = {
        "sentences of a source document": (fmean(shape.sentences), reached.source_sentences),
        "share of source sentences with a link": (shape.linked, reached.linked_source_share),
        "links of a linked source sentence": (shape.targets, reached.links_per_linked_source),
        "links of a linked target sentence": (shape.sources, reached.links_per_linked_target),
    }
    return tuple(
        ShapeRow(measure=name, wanted=asked, reached=got, met=abs(got - asked) <= TOLERANCE * asked)
        for name, (asked, got) in wanted.items()
        if got is not None and reached.links
    )
