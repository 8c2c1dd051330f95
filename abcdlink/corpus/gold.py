"""The gold links of a corpus, laid over a table of (pair, source, target) rows.

All scores count rows: which of them are gold links, and of which source sentence each is. Ids
become numbers, and a (pair, source, target) becomes one number, so that a table of millions of
rows is searched in sorted arrays, without a loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.records import Corpus, Pair
from abcdlink.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

ABSENT = -1


def linked_cells(corpus: Corpus, pair: Pair) -> NDArray[np.bool_]:
    """Return which sentences of a pair are linked, shape (source sentences, target sentences)."""
    source, target = corpus.source_of(pair), corpus.target_of(pair)
    linked = np.zeros((len(source.sentences), len(target.sentences)), bool)
    for sentence, targets in pair.sources_with_links.items():
        linked[source.position[sentence], [target.position[one] for one in targets]] = True
    return linked


class Gold:
    """Every source sentence of the annotated pairs, numbered in the order of the corpus.

    ``sources``: (pair, source sentence) by number. ``link_counts``, ``target_sizes``: its gold
    links and the sentences of its target document, shape (sources,). ``with_links``: the numbers
    of the sources with links.
    """

    def __init__(self, corpus: Corpus) -> None:
        self.sources: list[tuple[str, str]] = []
        self._targets: list[str] = []
        counts: list[int] = []
        sizes: list[int] = []
        for pair in corpus.pairs:
            if pair.links is None:
                continue
            size = len(corpus.target_of(pair).sentences)
            # A link of a sentence that the document lacks is counted too, and then missed in the rankings.
            for source in dict.fromkeys([*corpus.source_of(pair).position, *pair.sources_with_links]):
                targets = dict.fromkeys(pair.links.get(source, ()))
                self.sources.append((pair.id, source))
                self._targets += targets
                counts.append(len(targets))
                sizes.append(size)
        self.link_counts = np.array(counts, np.int64)
        self.target_sizes = np.array(sizes, np.int64)
        self.with_links = np.flatnonzero(self.link_counts)

    @property
    def names(self) -> pd.DataFrame:
        """The columns ``pair`` and ``source`` of the sources with links."""
        import pandas as pd

        rows = [self.sources[number] for number in self.with_links.tolist()]
        return pd.DataFrame(rows, columns=["pair", "source"], dtype=str)

    def match(self, rows: pd.DataFrame) -> Match:
        """Find the source sentence of each row, and whether it is a gold link.

        Rows have the columns ``pair``, ``source`` and ``target``, no row twice. It is fastest where the rows of a
        source stand together and ids are categorical, as in a rankings table.
        """
        import pandas as pd

        pairs, sources, targets = (pd.Categorical(rows[name]) for name in ("pair", "source", "target"))
        # One more than there are codes, so that a -1 makes no number that a row has.
        wide, deep = len(sources.categories) + 1, len(targets.categories) + 1
        own_pairs, own_sources = (list(ids) for ids in zip(*self.sources, strict=True)) if self.sources else ([], [])
        own = _codes(pairs, own_pairs) * wide + _codes(sources, own_sources)

        keys = pairs.codes.astype(np.int64) * wide + sources.codes
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        owner = np.repeat(_find(keys[starts], own), np.diff(starts, append=len(keys)))

        gold = np.repeat(np.arange(len(own)), self.link_counts) * deep + _codes(targets, self._targets)
        return Match(self, owner, _find(owner * deep + targets.codes, gold) != ABSENT)


class Match:
    """A table of (pair, source, target) rows with the gold links laid over it.

    ``owner``: number of the row's source sentence in ``gold.sources``, -1 where its pair is not
    annotated. ``hit``: whether the row is a gold link. Both have shape (rows,).
    """

    def __init__(self, gold: Gold, owner: NDArray[np.int64], hit: NDArray[np.bool_]) -> None:
        self.gold = gold
        self.owner = owner
        self.hit = hit

    def count(self, rows: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return how many of the given rows each source sentence has, shape (sources,)."""
        owner = self.owner[rows]
        return np.bincount(owner[owner != ABSENT], minlength=len(self.gold.sources))

    def require(self, sources: NDArray[np.int64]) -> None:
        """Raise ``InputError`` when one of these source sentences (numbers) has no row."""
        present = np.zeros(len(self.gold.sources) + 1, bool)
        present[self.owner] = True
        missing = sources[~present[sources]]
        if len(missing):
            pair, source = self.gold.sources[int(missing[0])]
            msg = f"the rankings do not contain the source {source!r} of the pair {pair!r}"
            raise InputError(msg, "rank the same corpus that is scored")


def _codes(column: pd.Categorical, ids: list[str]) -> NDArray[np.int64]:
    """Return the numbers that ids have in a column; -1, which no row has, for one that it lacks."""
    import pandas as pd

    return column.categories.get_indexer(pd.Index(ids, dtype=str)).astype(np.int64)


def _find(keys: NDArray[Any], among: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each key stands in ``among``, -1 where it does not."""
    if not len(among):
        return np.full(len(keys), ABSENT)
    order = np.argsort(among)
    at = order[np.minimum(np.searchsorted(among, keys, sorter=order), len(among) - 1)]
    return np.where(among[at] == keys, at, ABSENT)
