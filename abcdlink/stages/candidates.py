"""Stage candidates: the shortlisted approaches propose links on the natural pairs; pools for annotators."""

from __future__ import annotations

from abcdlink.candidates import build_pools, split_batches
from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Record
from abcdlink.domain import Domain
from abcdlink.errors import AbcdlinkError
from abcdlink.evaluation.shortlist import Shortlist
from abcdlink.layout import NATURAL, POOL_COUNTS, POOLS, SHORTLIST
from abcdlink.linking.grid import steps
from abcdlink.linking.learned import is_learned
from abcdlink.linking.records import Approach, ApproachKind
from abcdlink.progress import Progress, silent
from abcdlink.stages.decide import decide_part, part_count
from abcdlink.stages.learn import rank_learned
from abcdlink.stages.links import decided_links
from abcdlink.stages.once import is_done
from abcdlink.stages.plan import retrievers_under
from abcdlink.stages.rank import rank
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


def retrievers_to_rank(shortlist: Shortlist) -> list[str]:
    """Return the retrievers that the shortlisted approaches need, those under learned linkers included."""
    names = [approach.retriever for approach in shortlist.approaches if approach.retriever]
    return list(dict.fromkeys(part for name in names for part in retrievers_under(name)))


def learned_to_rank(shortlist: Shortlist) -> list[str]:
    """Return the learned linkers that the shortlisted approaches need."""
    return [name for name in dict.fromkeys(a.retriever for a in shortlist.approaches) if is_learned(name)]


def rank_natural(store: Store, shortlist: Shortlist, progress: Progress = silent) -> None:
    """Rank the natural pairs by all that the shortlisted approaches need; what the run holds is not done again."""
    for retriever in retrievers_to_rank(shortlist):
        rank(store, NATURAL, retriever, progress)
    for name in learned_to_rank(shortlist):
        rank_learned(store, NATURAL, name)


def llm_approaches_of(shortlist: Shortlist) -> list[Approach]:
    """Return the shortlisted approaches that ask an LLM."""
    return [approach for approach in shortlist.approaches if approach.kind is ApproachKind.LLM]


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
        (
            decided_links(store, shortlist, shortlist.first, sizes.first),
            decided_links(store, shortlist, shortlist.second, sizes.second),
        ),
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


def run_candidates(store: Store, domain: Domain, batches: int, seed: int, progress: Progress = silent) -> PoolCounts:
    """Run the whole stage, or return its kept result."""
    if candidates_done(store, batches, seed):
        return read_counts(store)
    shortlist = read_shortlist(store)
    rank_natural(store, shortlist, progress)
    for approach, part in steps(llm_approaches_of(shortlist), part_count(store, NATURAL)):
        decide_part(store, NATURAL, domain, approach, part, progress)
    return make_pools(store, domain, batches, seed)


def read_counts(store: Store) -> PoolCounts:
    """Return the kept counts."""
    return PoolCounts.model_validate_json(store.read_text(POOL_COUNTS))
