"""The shape of a synthetic corpus: how long its source documents are, and how densely they are linked.

Every document gets its own size before anything is written. The sizes vary, but their means over the corpus are those
of the shape: what rounding takes from one document is given to the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean, pstdev

from abcdlink.corpus.records import Corpus, Document, Record
from abcdlink.domain import Domain, Shape
from abcdlink.errors import InputError
from abcdlink.generation.records import dice
from abcdlink.languages import word_count

TOLERANCE = 0.15
"""A corpus whose mean differs from the shape by a larger share of it is shown as having missed it."""


MOST_SOURCES = 2
"""A target document with few sentences gets so many linked sources for each of them at most, on average."""


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
        return sum(count > 1 for count in self.targets)


class Means(Record):
    """The shape of a corpus as measured: means over its pairs.

    ``sentences``: of a source document. ``linked``: share of the source sentences that have links. ``targets``:
    target sentences of a linked source. ``sources``: source sentences of a linked target.
    """

    sentences: float
    linked: float
    targets: float
    sources: float


class ShapeRow(Record):
    """One measure of the shape: what was wanted, what was reached, and whether that is within the tolerance."""

    measure: str
    wanted: float
    reached: float
    met: bool


def usable(target: Document, domain: Domain) -> list[int]:
    """Return the positions of the target sentences that are long enough to be told in other words."""
    return [i for i, text in enumerate(target.texts) if word_count(text) >= domain.settings.sources.min_words]


def sizes_of(shape: Shape, targets: Mapping[str, int], seed: int) -> dict[str, Size]:
    """Return the size of the source document of each target document.

    Args:
        shape: what the means over all documents are to be.
        targets: target document -> how many of its sentences can be linked to; those with none are left out.
        seed: decides which document gets which size.
    """
    names = [name for name, count in targets.items() if count]
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
            counts[choice.choice([i for i, count in enumerate(counts) if count < distinct])] += 1
        sizes[name] = Size(sentences=sentences, targets=tuple(counts), distinct=distinct)
    return sizes


def means_of(corpus: Corpus) -> Means:
    """Measure the shape of a corpus with links; pairs that nobody has annotated do not count.

    Raises:
        InputError: when no pair of the corpus has a link.
    """
    pairs = [pair for pair in corpus.pairs if pair.links is not None]
    links = [
        (pair.id, source, target) for pair in pairs for source, found in (pair.links or {}).items() for target in found
    ]
    if not links:
        msg = f"the corpus {corpus.name!r} has no links"
        raise InputError(msg, "learn the shape from a corpus with links, or leave it to the domain")
    lengths = [len(corpus.source_of(pair).sentences) for pair in pairs]
    sources = len({(pair, source) for pair, source, _ in links})
    return Means(
        sentences=fmean(lengths),
        linked=sources / sum(lengths),
        targets=len(links) / sources,
        sources=len(links) / len({(pair, target) for pair, _, target in links}),
    )


def learn_shape(corpus: Corpus) -> Shape:
    """Return the shape of a corpus with links, for ``sizes_of``.

    The range of lengths has the mean and the standard deviation of the corpus, as far as there are shorter documents
    than the mean: all lengths in between will be equally likely.

    Raises:
        InputError: as ``means_of``.
    """
    means = means_of(corpus)
    lengths = [len(corpus.source_of(pair).sentences) for pair in corpus.pairs if pair.links is not None]
    spread = min(3**0.5 * pstdev(lengths), means.sentences - 1)
    return Shape(
        sentences=(round(means.sentences - spread), round(means.sentences + spread)),
        linked=means.linked,
        targets=means.targets,
        sources=means.sources,
    )


def compare_shape(shape: Shape, reached: Means) -> tuple[ShapeRow, ...]:
    """Compare what was wanted with what was reached, one row a measure."""
    wanted = {
        "sentences of a source document": (fmean(shape.sentences), reached.sentences),
        "share of the source sentences with links": (shape.linked, reached.linked),
        "targets of a linked source": (shape.targets, reached.targets),
        "sources of a linked target": (shape.sources, reached.sources),
    }
    return tuple(
        ShapeRow(measure=name, wanted=asked, reached=got, met=abs(got - asked) <= TOLERANCE * asked)
        for name, (asked, got) in wanted.items()
    )
