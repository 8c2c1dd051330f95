"""Labels of one part of a corpus: the probability of a link for every two sentences, as a learned linker gives it.

A part stores every two sentences whose probability reaches a floor, and a random share of the others, so that an audit
can estimate how many links are below the floor. A histogram covers all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from abcdlink.corpus.records import Corpus, Pair, Record, Refusal
from abcdlink.domain import SentenceFilter
from abcdlink.labels.corpus_index import CorpusIndex
from abcdlink.linking.decisions import over_kept_targets
from abcdlink.linking.fitted import pair_fingerprints
from abcdlink.linking.learned import LearnedLinker
from abcdlink.linking.learners import FittedLinker, base_retrievers
from abcdlink.progress import Progress, silent
from abcdlink.retrieval import get_retriever
from abcdlink.retrieval.base import rank_pairs

if TYPE_CHECKING:
    import pandas as pd

BINS = 1000
"""Of the histogram of probabilities, each 0.001 wide."""
CELLS_PER_PART = 400_000
"""Pairs of sentences in one part: some seconds, and some 100 MB."""
MOST_CELLS = 4_000_000
"""A pair of documents with more pairs of sentences is refused: its features would take gigabytes."""
BACKGROUND = 1000
"""Pairs of the corpus whose documents say, in every part, how rare a word is."""


class LabelSampling(Record):
    """Which rows are kept.

    ``floor``: every two sentences with at least this probability are kept. ``share``: of the others, chosen at random.
    """

    floor: float = Field(0.05, gt=0, lt=1)
    share: float = Field(0.01, gt=0, le=1)
    seed: int = Field(13, ge=0)


class Histogram(Record):
    """Probabilities of all pairs of sentences, kept or not, by bins of equal width from 0 to 1.

    ``counts``: pairs of sentences in each bin; ``sums``: the sum of their probabilities; ``best``: source sentences by
    the probability of their best target.
    """

    counts: tuple[int, ...] = (0,) * BINS
    sums: tuple[float, ...] = (0.0,) * BINS
    best: tuple[int, ...] = (0,) * BINS

    @classmethod
    def of(cls, table: pd.DataFrame) -> Histogram:
        """Count a rankings table whose scores are probabilities."""
        probability = table["score"].to_numpy()
        place = _bins(probability)
        best = _bins(probability[table["rank"].to_numpy() == 1])
        return cls(
            counts=tuple(np.bincount(place, minlength=BINS).tolist()),
            sums=tuple(np.bincount(place, probability, minlength=BINS).tolist()),
            best=tuple(np.bincount(best, minlength=BINS).tolist()),
        )

    def __add__(self, other: Histogram) -> Histogram:
        return Histogram(
            counts=tuple(map(sum, zip(self.counts, other.counts, strict=True))),
            sums=tuple(map(sum, zip(self.sums, other.sums, strict=True))),
            best=tuple(map(sum, zip(self.best, other.best, strict=True))),
        )

    @property
    def expected_links(self) -> float:
        """The sum of all probabilities."""
        return float(sum(self.sums))

    def above(self, threshold: float) -> tuple[int, float]:
        """Return how many pairs of sentences reach a threshold (a multiple of 0.001), and their expected links."""
        start = round(threshold * BINS)
        return sum(self.counts[start:]), float(sum(self.sums[start:]))

    def threshold_for(self, precision: float) -> float | None:
        """Return the lowest threshold from which on the mean probability is at least ``precision``, if there is one."""
        counts = np.cumsum(self.counts[::-1])[::-1]
        sums = np.cumsum(self.sums[::-1])[::-1]
        enough = np.flatnonzero((counts > 0) & (sums >= precision * counts))
        return float(enough[0]) / BINS if enough.size else None


def _bins(probability: NDArray[np.float64]) -> NDArray[np.intp]:
    return np.minimum((probability * BINS).astype(np.intp), BINS - 1)


class PartCounts(Record):
    """What came of one part. ``refused``: pairs that have no labels, with the reasons."""

    pairs: int
    sources: int
    histogram: Histogram
    refused: tuple[Refusal, ...]


class LabelledPart(NamedTuple):
    """The rows that are kept of a part, and the counts of the whole part.

    Columns: ``pair``, ``source``, ``target`` (ids), ``probability`` of a link, and ``chance``: the probability with
    which such a row is kept, 1 from the floor up.
    """

    rows: pd.DataFrame
    counts: PartCounts


class Labeller:
    """Labels parts of one corpus with one linker.

    ``linker``: a learned one whose scores are probabilities; ``language``: of the texts; ``targets``: which target
    sentences get no label.
    """

    def __init__(
        self,
        linker: LearnedLinker | FittedLinker,
        index: CorpusIndex,
        sampling: LabelSampling,
        language: str,
        targets: SentenceFilter,
    ) -> None:
        self._linker, self._index, self._sampling, self._targets = linker, index, sampling, targets
        self._retrievers = [get_retriever(name, language) for name in base_retrievers(linker.name)]
        self._background = index.read(index.sample(BACKGROUND, sampling.seed))

    def label(self, numbers: Sequence[int], part: int, progress: Progress = silent) -> LabelledPart:
        """Label some pairs of the corpus.

        ``part``: its number, which seeds the random choice of rows.
        """
        corpus = self._index.read(numbers)
        pairs, refused = self._usable(corpus)
        # The statistics of words are those of the background and of this part: much the same in every part, and
        # exactly those of the corpus where it has no more pairs than the background.
        whole = corpus.model_copy(
            update={
                "documents": {**self._background.documents, **corpus.documents},
                "pairs": [*self._background.pairs, *pairs],
            }
        )
        table = self._ranked(whole, pairs, progress)
        counts = PartCounts(
            pairs=len(pairs),
            sources=sum(len(corpus.source_of(pair).sentences) for pair in pairs),
            histogram=Histogram.of(table),
            refused=(*corpus.refused, *refused),
        )
        return LabelledPart(self._kept(table, part), counts)

    def _usable(self, corpus: Corpus) -> tuple[list[Pair], list[Refusal]]:
        known, fingerprints = set(self._linker.fitted_on.pairs), pair_fingerprints(corpus)
        pairs, refused = [], []
        for pair in corpus.pairs:
            cells = len(corpus.source_of(pair).sentences) * len(corpus.target_of(pair).sentences)
            if fingerprints[pair.id] in known:
                reason = "the linker was fitted on this pair, so its probabilities would not be predictions"
                refused.append(Refusal(where=f"pair {pair.id!r}", reason=reason, hint="use its gold links"))
            elif cells > MOST_CELLS:
                reason = f"it has {cells:,} pairs of sentences, more than {MOST_CELLS:,}"
                refused.append(Refusal(where=f"pair {pair.id!r}", reason=reason, hint="split its documents"))
            else:
                pairs.append(pair)
        return pairs, refused

    def _ranked(self, corpus: Corpus, pairs: list[Pair], progress: Progress) -> pd.DataFrame:
        documents, tables = list(corpus.used_documents()), {}
        for retriever, name in zip(self._retrievers, base_retrievers(self._linker.name), strict=True):
            retriever.prepare(documents)
            tables[name] = rank_pairs(corpus, retriever, pairs)
        return over_kept_targets(self._linker.rank(tables, corpus, pairs, progress), corpus, self._targets)

    def _kept(self, table: pd.DataFrame, part: int) -> pd.DataFrame:
        import pandas as pd

        likely = table["score"].to_numpy() >= self._sampling.floor
        # The generator of a part is its own, so that the choice does not depend on which parts were done before.
        drawn = np.random.default_rng((self._sampling.seed, part)).random(len(table)) < self._sampling.share
        kept = table[likely | drawn]
        return pd.DataFrame(
            {
                **{name: kept[name].cat.remove_unused_categories() for name in ("pair", "source", "target")},
                "probability": kept["score"].to_numpy(),
                "chance": np.where(kept["score"] >= self._sampling.floor, 1.0, self._sampling.share),
            }
        ).reset_index(drop=True)


def cut(index: CorpusIndex, cells: int = CELLS_PER_PART) -> list[range]:
    """Cut a corpus into parts of consecutive pairs with at most so many pairs of sentences; a bigger pair is alone."""
    starts: list[int] = []
    size = pairs = 0
    for number, more in index.sizes():
        if not starts or size + more > cells:
            starts.append(number)
            size = 0
        size += more
        pairs = number + 1
    return [range(start, end) for start, end in zip(starts, [*starts[1:], pairs], strict=False)]
