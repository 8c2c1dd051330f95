"""Stage candidates: the shortlisted approaches propose links on the natural pairs; pools for annotators."""

from __future__ import annotations

from collections.abc import Sequence

from abcdlink.candidates import build_pools, split_batches
from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Record
from abcdlink.domain import Domain
from abcdlink.errors import AbcdlinkError
from abcdlink.evaluation.shortlist import Shortlist
from abcdlink.layout import NATURAL, POOL_COUNTS, POOLS, SHORTLIST
from abcdlink.linking.records import Approach, ApproachKind, Decision
from abcdlink.linking.top_k import decide_top_k
from abcdlink.progress import Progress, silent
from abcdlink.stages.decide import decide_part, part_count, read_decisions
from abcdlink.stages.once import is_done
from abcdlink.stages.rank import rank, read_rankings
from abcdlink.store import Store

STAGE = "candidates"


class NothingToAnnotateError(AbcdlinkError):
    """No source sentence has a candidate: nothing was proposed, or all was filtered out."""


class PoolCounts(Record):
    """How many pools and candidates there are and what was left out, as kept in ``candidates.json``."""

    pools: int
    candidates: int
    batches: dict[int, int]
    methods: dict[str, int]
    filtered: dict[str, int]
    refused: int


def read_shortlist(store: Store) -> Shortlist:
    """Return the run's shortlist; ``InputError`` when it is not made yet."""
    store.require(SHORTLIST, "benchmark")
    return Shortlist.model_validate_json(store.read_text(SHORTLIST))


def candidates_done(store: Store, batches: int, seed: int) -> bool:
    """Tell whether the run already holds the pools that are asked for."""
    return is_done(store, STAGE, POOL_COUNTS, {"batches": batches, "seed": seed})


def make_pools(store: Store, domain: Domain, batches: int, seed: int) -> PoolCounts:
    """Build the pools from what the shortlisted approaches decided on the natural pairs.

    Raises:
        NothingToAnnotateError: when no candidate is left to annotate, or none in one of the batches.
    """
    shortlist, corpus = read_shortlist(store), read_corpus_from(store, NATURAL)
    sizes = domain.settings.pool
    result = build_pools(
        corpus,
        (_decisions(store, shortlist.first, sizes.first), _decisions(store, shortlist.second, sizes.second)),
        (shortlist.first.kind.value, shortlist.second.kind.value),
        domain,
        store.key,
        seed,
        split_batches(corpus.pairs, batches),
    )
    if not result.pools:
        reasons = ", ".join(f"{count} x {reason}" for reason, count in result.filtered.items())
        msg = f"run {store.key!r} has no candidate to annotate ({reasons})"
        raise NothingToAnnotateError(msg, "loosen the filters in domain.toml or import more pairs")
    by_batch = [pool.batch for pool in result.pools]
    empty = [batch for batch in range(1, batches + 1) if batch not in by_batch]
    if empty:
        msg = f"batch {empty[0]} of run {store.key!r} would be empty: {len(corpus.pairs)} pairs for {batches} batches"
        raise NothingToAnnotateError(msg, "annotate in fewer batches, or import more pairs")
    counts = PoolCounts(
        pools=len(result.pools),
        candidates=sum(len(pool.candidates) for pool in result.pools),
        batches={batch: by_batch.count(batch) for batch in range(1, batches + 1)},
        methods=result.methods,
        filtered=result.filtered,
        refused=len(result.refused),
    )
    store.write_records(POOLS, result.pools)
    store.write_text(POOL_COUNTS, counts.model_dump_json(indent=2))
    return counts


def _decisions(store: Store, approach: Approach, size: int) -> Sequence[Decision]:
    """Return what an approach decided on the natural pairs.

    A retriever fills its ``size`` places in the pool also when its cutoff is smaller: people judge
    a pool of this size anyway, and more candidates mean more links found.
    """
    if approach.kind is ApproachKind.RETRIEVER:
        filling = approach.model_copy(update={"cutoff": max(approach.k, size)})
        return decide_top_k(filling, read_rankings(store, NATURAL, approach.retriever).table)
    return read_decisions(store, NATURAL, approach).decisions


def run_candidates(store: Store, domain: Domain, batches: int, seed: int, progress: Progress = silent) -> PoolCounts:
    """Run the whole stage, or return its kept result."""
    if candidates_done(store, batches, seed):
        return read_counts(store)
    shortlist = read_shortlist(store)
    for approach in (shortlist.first, shortlist.second):
        rank(store, NATURAL, approach.retriever, progress)
        if approach.kind is ApproachKind.LLM:
            for part in range(part_count(store, NATURAL)):
                decide_part(store, NATURAL, domain, approach, part, progress)
    return make_pools(store, domain, batches, seed)


def read_counts(store: Store) -> PoolCounts:
    """Return the kept counts."""
    return PoolCounts.model_validate_json(store.read_text(POOL_COUNTS))
