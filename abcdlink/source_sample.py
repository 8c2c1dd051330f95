"""A random sample of source sentences, evenly over the pairs: for exhaustive judging, or for questions to LLMs."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from abcdlink.corpus.records import Corpus, Record
from abcdlink.domain import SourceFilter
from abcdlink.errors import InputError
from abcdlink.judgments import opaque_id

Source = tuple[str, str]
"""Pair and source sentence."""


class SampledSource(Record):
    """A source sentence for which every target sentence is judged; ``key``: opaque name of its task."""

    key: str
    pair: str
    source: str

    @property
    def at(self) -> Source:
        """Its pair and source sentence."""
        return self.pair, self.source


class Sample(Record):
    """The sampled source sentences, pair by pair in the order of the corpus; in random order where ``links`` is given.

    ``links``: people stop when they have found this many. ``population``: source sentences that could be sampled.
    ``filtered``: reason -> number of source sentences that the domain does not show to annotators.
    """

    sources: tuple[SampledSource, ...]
    population: int
    filtered: dict[str, int]
    seed: int
    links: int | None = None


def sample_sources(
    corpus: Corpus,
    rules: SourceFilter,
    run_key: str,
    seed: int,
    share: float | None = None,
    number: int | None = None,
    links: int | None = None,
) -> Sample:
    """Sample source sentences, stratified by pair.

    Systematic sampling over the pairs in random order, and the sources of each in random order: each
    source has the same chance, n of N, and each pair has its share of the sample, rounded up or down.
    Only the corpus and the domain's filters are looked at: a sample of what approaches found, or of
    what annotators were shown, would make recall look better than it is.

    Args:
        corpus: documents and pairs; gold links in it are not looked at.
        rules: which source sentences are not shown to annotators.
        run_key: makes the opaque task keys differ between runs.
        seed: the same one gives the same sample in every process.
        share: of the source sentences, above 0 and up to 1; the sample has one at least.
        number: of source sentences; give either this or a share. All, if there are fewer.
        links: people stop when they have found this many links. The sources are then in random order, so that those
            judged are a random sample wherever people stop.

    Raises:
        InputError: when neither or both of share and number are given, one is out of range, or there
            is no source sentence.
    """
    if (share is None) == (number is None):
        msg = "a sample needs either a share or a number of source sentences"
        raise InputError(msg, "give one of the two")
    if (number or share or 0) <= 0 or (share or 0) > 1 or (links is not None and links < 1):
        msg = f"a share of {share}, {number} source sentences or {links} links cannot be sampled"
        raise InputError(msg, "give a number of 1 or more, or a share above 0 and up to 1, such as 0.1")
    filtered: Counter[str] = Counter()
    strata: list[list[Source]] = []
    for pair in corpus.pairs:
        reasons = {
            sentence.id: rules.reason_to_leave_out(sentence.text) for sentence in corpus.source_of(pair).sentences
        }
        filtered.update(reason for reason in reasons.values() if reason)
        strata.append([(pair.id, source) for source, reason in reasons.items() if not reason])
    population = sum(map(len, strata))
    if not population:
        msg = "there is no source sentence to sample"
        raise InputError(msg, "loosen the filters in domain.toml or import more pairs")
    wanted = number if share is None else max(1, round(share * population))
    ordered = systematic(strata, min(wanted or population, population), random.Random(seed))  # noqa: S311 - no secret
    if links:
        random.Random(f"{seed}|order").shuffle(ordered)  # noqa: S311 - no secret
    return Sample(
        sources=tuple(SampledSource(key=exhaustive_key(run_key, *at), pair=at[0], source=at[1]) for at in ordered),
        population=population,
        filtered=dict(filtered),
        seed=seed,
        links=links,
    )


def exhaustive_key(run_key: str, pair: str, source: str) -> str:
    """Return the opaque, stable name of a source's exhaustive task: 16 hex digits, not those of its pool."""
    return opaque_id(run_key, "exhaustive", pair, source)


def systematic(strata: Sequence[Sequence[Source]], size: int, chooser: random.Random) -> list[Source]:
    """Take every (N / size)th of the shuffled sources of the shuffled strata, from a random start; in their order."""
    order = [
        source for stratum in chooser.sample(strata, len(strata)) for source in chooser.sample(stratum, len(stratum))
    ]
    start = chooser.random()
    taken = {order[int((start + place) * len(order) / size)] for place in range(size)}
    return [source for stratum in strata for source in stratum if source in taken]
