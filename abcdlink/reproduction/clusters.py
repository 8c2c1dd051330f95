"""Compares the paper's table of link clusters: how many links of a pair stand next to other links."""

from __future__ import annotations

from collections.abc import Sequence

from abcdlink.corpus.counts import link_clusters
from abcdlink.corpus.records import Corpus, Pair
from abcdlink.errors import InputError
from abcdlink.interannotator.groups import accepted
from abcdlink.judgments import Judgment, by_candidate
from abcdlink.reproduction.paper import ClusterRow
from abcdlink.reproduction.records import Place


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


def compare_clusters(place: Place, corpus: Corpus, printed: ClusterRow | None) -> None:
    """Compare the counts of one data set; ``printed``: ``None`` where the paper's are not at hand."""
    ours = link_clusters(corpus)
    measured = (
        ("pairs", ours.pairs, 0),
        ("links", ours.links, 0),
        ("links in clusters %", ours.percent, 0),
        ("mean size", ours.mean, 1),
        ("max size", ours.largest, 0),
    )
    for (name, value, decimals), paper in zip(measured, printed or (None,) * len(measured), strict=True):
        place.compare("", name, value, paper, decimals)
