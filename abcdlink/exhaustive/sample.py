"""Which source sentences are judged exhaustively: a random sample that no approach has a say in."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from abcdlink.corpus.records import Corpus
from abcdlink.domain import SourceFilter
from abcdlink.errors import InputError
from abcdlink.exhaustive.records import Sample, SampledSource, Source
from abcdlink.keys import opaque


def sample_sources(
    corpus: Corpus, rules: SourceFilter, run_key: str, seed: int, share: float | None = None, number: int | None = None
) -> Sample:
    """Sample source sentences, stratified by pair.

    Systematic sampling over the pairs in random order, and the sources of each in random order: each
    source has the same chance, n of N, and each pair has its share of the sample, rounded up or down.
    Only the corpus and the domain's filters are looked at: a sample of what approaches found, or of
    what annotators were shown, would make recall look better than it is.

    Args:
        corpus: documents and pairs; gold links in it are not looked at.
        rules: which source sentences annotators are not shown.
        run_key: makes the opaque task keys differ between runs.
        seed: the same one gives the same sample in every process.
        share: of the source sentences, above 0 and up to 1; the sample has one at least.
        number: of source sentences; give it or a share. All, where there are fewer.

    Raises:
        InputError: when neither or both of share and number are given, one is out of range, or there
            is no source sentence.
    """
    _check(share, number)
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
    chosen = _systematic(strata, min(wanted or population, population), random.Random(seed))  # noqa: S311 - no secret
    return Sample(
        sources=tuple(
            SampledSource(key=exhaustive_key(run_key, *at), pair=at[0], source=at[1])
            for stratum in strata
            for at in stratum
            if at in chosen
        ),
        population=population,
        filtered=dict(filtered),
        seed=seed,
    )


def exhaustive_key(run_key: str, pair: str, source: str) -> str:
    """Return the opaque, stable name of a source's exhaustive task: 16 hex digits, not those of its pool."""
    return opaque(run_key, "exhaustive", pair, source)


def _check(share: float | None, number: int | None) -> None:
    if (share is None) == (number is None):
        msg = "a sample needs either a share or a number of source sentences"
        raise InputError(msg, "give one of the two")
    if share is not None and not 0 < share <= 1:
        msg = f"a share of {share} cannot be sampled"
        raise InputError(msg, "give a share above 0 and up to 1, such as 0.1 for every tenth source sentence")
    if number is not None and number < 1:
        msg = f"{number} source sentences cannot be sampled"
        raise InputError(msg, "give a number from 1")


def _systematic(strata: Sequence[Sequence[Source]], size: int, chooser: random.Random) -> set[Source]:
    """Take every (N / size)th of the shuffled sources of the shuffled strata, from a random start."""
    order = [
        source for stratum in chooser.sample(strata, len(strata)) for source in chooser.sample(stratum, len(stratum))
    ]
    start = chooser.random()
    return {order[int((start + place) * len(order) / size)] for place in range(size)}
