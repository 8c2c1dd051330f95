"""Flow candidates: the shortlisted approaches propose links on the natural pairs."""

from __future__ import annotations

from prefect import flow

from abcdlink.layout import NATURAL
from abcdlink.stages.candidates import (
    PoolCounts,
    candidates_done,
    learned_to_rank,
    llm_approaches_of,
    proposing,
    read_counts,
    read_shortlist,
    retrievers_to_rank,
)
from abcdlink.store import open_run
from flows.asking import wait_for_answers
from flows.parameters import PoolParameters, RunKey, run_domain
from flows.parts import decide, rank
from flows.ui.artifacts import show_candidates
from tasks.approaches import build_pools, rank_with_learned


@flow(name="candidates", flow_run_name="candidates {run}")
def candidates(
    run: RunKey,
    domain: str = "",
    pools: PoolParameters = PoolParameters(),
) -> PoolCounts | None:
    """Build the pools that annotators will see, batch by batch.

    Returns nothing when it is a part of a run that has to wait for the LLM (see ``flows.asking``).

    Args:
        run: run key, the name of this whole bootstrap; the same key goes on with what is there.
        domain: name or path of the domain; empty: the one that the run was begun with.
        pools: which candidates annotators see.
    """
    store = open_run(run)
    domain = run_domain(store, domain)
    plan = pools.pools()
    approaches = proposing(read_shortlist(store), plan.mode)
    if candidates_done(store, plan):
        counts = read_counts(store)
    else:
        rank(run, NATURAL, retrievers_to_rank(approaches))
        for name in learned_to_rank(approaches):
            rank_with_learned(run, NATURAL, name)
        if not decide(run, NATURAL, domain, llm_approaches_of(approaches)):
            wait_for_answers(NATURAL)
            return None
        counts = build_pools(run, domain, plan)
    show_candidates(run, counts)
    return counts
