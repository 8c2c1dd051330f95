"""The paper's table of link clusters: how many links of a pair stand next to other links.

The paper prints figures only. This definition gives its row of REVIEWS-HE to the last digit: two links of
a pair touch when their source sentences are at most one sentence apart and their target sentences too;
links that touch, also by way of others, are one cluster; a link that touches none is in no cluster.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.records import Corpus, Pair, Record
from abcdlink.errors import InputError
from abcdlink.interannotator.groups import accepted
from abcdlink.judgments import Judgment, by_candidate
from abcdlink.reproduction.paper import ClusterRow
from abcdlink.reproduction.records import Place


class Clusters(Record):
    """Counts over all pairs with links.

    ``percent``: of the links that are in a cluster. ``mean`` and ``largest``: links of a cluster; 0 when
    there is none.
    """

    pairs: int
    links: int
    percent: float
    mean: float
    largest: int


def link_clusters(corpus: Corpus) -> Clusters:
    """Find the clusters of all pairs."""
    sizes = [_sizes(_matrix(corpus, index)) for index in range(len(corpus.pairs))]
    per_link = np.concatenate([np.empty(0, np.intp), *sizes])
    clusters = per_link[per_link > 1]
    links = int(per_link.sum())
    return Clusters(
        pairs=sum(len(of_pair) > 0 for of_pair in sizes),
        links=links,
        percent=100 * float(clusters.sum()) / max(links, 1),
        mean=float(clusters.mean()) if len(clusters) else 0.0,
        largest=int(clusters.max(initial=0)),
    )


def _matrix(corpus: Corpus, index: int) -> NDArray[np.bool_]:
    """Return which sentences of a pair are linked, shape (source sentences, target sentences)."""
    pair = corpus.pairs[index]
    source, target = corpus.source_of(pair), corpus.target_of(pair)
    linked = np.zeros((len(source.sentences), len(target.sentences)), bool)
    for sentence, targets in pair.sources_with_links.items():
        linked[source.position[sentence], [target.position[other] for other in targets]] = True
    return linked


def _sizes(linked: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the number of links of each group of touching links, also of groups of one."""
    from scipy.ndimage import label

    groups, _ = label(linked, structure=np.ones((3, 3)))
    return np.bincount(groups[linked])[1:]


def with_accepted(corpus: Corpus, judgments: Sequence[Judgment]) -> Corpus:
    """Return the judged pairs of a corpus with the candidates that all annotators call a link as links.

    Raises:
        InputError: when a judged pair or sentence is not in the corpus.
    """
    pairs = {pair.id: pair for pair in corpus.pairs}
    links: dict[str, dict[str, list[str]]] = {}
    for (pair, source, target), group in by_candidate(judgments).items():
        if not _holds(corpus, pairs.get(pair), source, target):
            msg = f"the judged link {source!r} to {target!r} of the pair {pair!r} is not in its documents"
            raise InputError(msg, "take documents and judgments from the same release")
        found = links.setdefault(pair, {}).setdefault(source, [])
        found += [target] * accepted(group)
    judged = [
        pairs[pair].model_copy(update={"links": {source: tuple(targets) for source, targets in by_source.items()}})
        for pair, by_source in links.items()
    ]
    return corpus.model_copy(update={"pairs": judged})


def _holds(corpus: Corpus, pair: Pair | None, source: str, target: str) -> bool:
    return pair is not None and source in corpus.source_of(pair).position and target in corpus.target_of(pair).position


def compare_clusters(place: Place, corpus: Corpus, printed: ClusterRow) -> None:
    """Compare the counts of one data set."""
    ours = link_clusters(corpus)
    measured = (
        ("pairs", ours.pairs, 0),
        ("links", ours.links, 0),
        ("links in clusters %", ours.percent, 0),
        ("mean size", ours.mean, 1),
        ("max size", ours.largest, 0),
    )
    for (name, value, decimals), paper in zip(measured, printed, strict=True):
        place.compare("", name, value, paper, decimals)
