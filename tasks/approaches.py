"""Parts of ranking, labelling and deciding, as tasks that a runner can send to a process; asking an LLM by batch."""

from __future__ import annotations

from prefect import task

from abcdlink.domain import find_domain
from abcdlink.linking.records import Approach
from abcdlink.llm.batch import BatchState
from abcdlink.stages import batch
from abcdlink.stages.decide import decide_part as decide_one_part
from abcdlink.stages.estimate import CostEstimate, estimate_approaches
from abcdlink.store import open_run
from tasks import rankers
from tasks.running import SERVICE_RETRIES, prefect_progress


@task(task_run_name="prepare {retriever} on {corpus}, part {part}")
def warm_part(run: str, corpus: str, retriever: str, part: int) -> None:
    """Compute what one retriever needs to know of one part of the sentences of a corpus."""
    rankers.warm(run, corpus, retriever, part)


@task(task_run_name="rank {corpus} with {retriever}, part {part}")
def rank_part(run: str, corpus: str, retriever: str, part: int) -> None:
    """Rank one part of a corpus with one retriever."""
    rankers.rank(run, corpus, retriever, part)


@task(task_run_name="label {labels}, part {part}")
def label_part(run: str, labels: str, part: int) -> None:
    """Label one part of a corpus that nobody judges."""
    rankers.label(run, labels, part)


@task(task_run_name="cost of asking about {corpus}")
def estimate_cost(run: str, corpus: str, domain: str, approaches: list[Approach]) -> CostEstimate:
    """Estimate what the LLM has still to be asked about a corpus; it is asked nothing."""
    return estimate_approaches(open_run(run), corpus, find_domain(domain), approaches)


@task(task_run_name="ask about {corpus} by batch", **SERVICE_RETRIES)
def ask_by_batch(run: str, corpus: str, domain: str, approaches: list[Approach]) -> BatchState:
    """Submit the first questions about a corpus as a batch, unless that was done, and look how far it is."""
    return batch.ask_by_batch(open_run(run), corpus, find_domain(domain), approaches)


@task(task_run_name="{approach.name} on {corpus}, part {part}", **SERVICE_RETRIES)
def decide_part(run: str, corpus: str, domain: str, approach: Approach, part: int) -> None:
    """Let the LLM decide one part of a corpus."""
    decide_one_part(open_run(run), corpus, find_domain(domain), approach, part, prefect_progress)
