"""Flow candidates: the shortlisted approaches propose links on the natural pairs."""

from __future__ import annotations

from prefect import flow

from abcdlink.domain import domain_of
from abcdlink.stages.candidates import PoolCounts, PoolPlan, run_candidates
from abcdlink.store import open_run
from flows.execution import AS_TASKS
from flows.llm_batch import waiting_for_answers
from flows.parameters import RunKey
from flows.ui.artifacts import show_candidates
from flows.ui.what_now import NOTED


@flow(name="candidates", flow_run_name="candidates {run}", **NOTED)
def candidates(
    run: RunKey,
    domain: str = "",
    pools: PoolPlan = PoolPlan(),
) -> PoolCounts:
    """Build the pools that annotators will see, batch by batch.

    Args:
        run: run key, the name of this whole bootstrap; the same key goes on with what is there.
        domain: name or path of the domain; empty: the one that the run was begun with.
        pools: which candidates annotators see.
    """
    store = open_run(run)
    with waiting_for_answers():
        counts = run_candidates(store, domain_of(store, domain), pools, AS_TASKS)
    show_candidates(run, counts)
    return counts
