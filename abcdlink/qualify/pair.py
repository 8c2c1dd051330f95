"""Which pair applicants judge: one whose links are known, with about 30 of them."""

from __future__ import annotations

from abcdlink.corpus.records import Corpus, Pair
from abcdlink.domain import SourceFilter
from abcdlink.errors import InputError

WANTED_LINKS = 30


def gold_pair(corpus: Corpus, rules: SourceFilter, pair_id: str = "", links: int = WANTED_LINKS) -> Pair:
    """Return the named pair, or the one whose number of gold links is nearest to ``links``, the first of equals.

    ``rules``: links of source sentences that people are not shown do not count.

    Raises:
        InputError: when there is no such pair, or nobody has annotated it, or it has no links.
    """
    with_gold = [pair for pair in corpus.pairs if pair.sources_with_links]
    if not with_gold:
        msg = f"the corpus {corpus.name!r} has no pair with gold links"
        raise InputError(msg, "give a corpus of annotated pairs, for instance one that `abcdlink import` wrote")
    if not pair_id:
        return min(with_gold, key=lambda pair: abs(link_count(corpus, pair, rules) - links))
    found = next((pair for pair in with_gold if pair.id == pair_id), None)
    if found is None:
        known = any(pair.id == pair_id for pair in corpus.pairs)
        msg = f"the pair {pair_id!r} of the corpus {corpus.name!r} " + (
            "has no gold links" if known else "is not there"
        )
        raise InputError(msg, f"use a pair with gold links, such as {with_gold[0].id!r}")
    return found


def link_count(corpus: Corpus, pair: Pair, rules: SourceFilter) -> int:
    """Return the number of gold links of a pair on source sentences that people are shown."""
    source = corpus.source_of(pair)
    return sum(
        len(targets)
        for name, targets in pair.sources_with_links.items()
        if name in source.position and not rules.reason_to_leave_out(source.text_of(name))
    )
