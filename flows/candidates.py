"""Flow candidates: the shortlisted approaches propose links on the natural pairs."""

from __future__ import annotations

from contextlib import suppress

from prefect import flow

from abcdlink.domain import domain_of
from abcdlink.layout import NATURAL
from abcdlink.stages.candidates import PoolCounts, PoolPlan, run_candidates
from abcdlink.stages.execution import AnswersPendingError
from abcdlink.store import open_run
from flows.execution import AS_TASKS
from flows.llm_batch import wait_for_answers
from flows.parameters import RunKey
from flows.ui.artifacts import show_candidates


@flow(name="candidates", flow_run_name="candidates {run}")
def candidates(
    run: RunKey,
    domain: str = "",
    pools: PoolPlan = PoolPlan(),
) -> PoolCounts | None:
    """Build the pools that annotators will see, batch by batch.

    Returns nothing when it is a part of a run that has to wait for the LLM (see ``flows.llm_batch``).

    Args:
        run: run key, the name of this whole bootstrap; the same key goes on with what is there.
        domain: name or path of the domain; empty: the one that the run was begun with.
        pools: which candidates annotators see.
    """
    store, counts = open_run(run), None
    with suppress(AnswersPendingError):
        counts = run_candidates(store, domain_of(store, domain), pools, AS_TASKS)
    if counts is None:
        wait_for_answers(NATURAL)
        return None
    show_candidates(run, counts)
    return counts
