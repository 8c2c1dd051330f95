"""Steps that run approaches: rank with a retriever, decide with an LLM, score, shortlist, build pools."""

from __future__ import annotations

from prefect import task

from abcdlink.domain import find_domain
from abcdlink.evaluation.shortlist import Shortlist, ShortlistRule
from abcdlink.linking.records import Approach
from abcdlink.llm.batch import BatchState
from abcdlink.stages import batch
from abcdlink.stages import benchmark as stage
from abcdlink.stages.candidates import PoolCounts, PoolPlan, make_pools
from abcdlink.stages.decide import decide_part as decide_one_part
from abcdlink.stages.estimate import CostEstimate, estimate_approaches
from abcdlink.stages.learn import learn_linker, rank_learned
from abcdlink.stages.plan import BenchmarkPlan
from abcdlink.stages.shortlist import quick_shortlist, run_shortlist
from abcdlink.store import open_run
from tasks import rankers
from tasks.progress import prefect_progress
from tasks.retrying import SERVICE_RETRIES


@task(task_run_name="prepare {retriever} on {corpus}, part {part}")
def warm_part(run: str, corpus: str, retriever: str, part: int) -> None:
    """Compute what one retriever needs to know of one part of the sentences of a corpus."""
    rankers.warm(run, corpus, retriever, part)


@task(task_run_name="rank {corpus} with {retriever}, part {part}")
def rank_part(run: str, corpus: str, retriever: str, part: int) -> None:
    """Rank one part of a corpus with one retriever."""
    rankers.rank(run, corpus, retriever, part)


@task(task_run_name="learn {name}")
def learn(run: str, name: str, folds: int) -> None:
    """Fit a learned linker on the synthetic pairs of the run, and rank these out of fold."""
    learn_linker(open_run(run), name, folds, prefect_progress)


@task(task_run_name="rank {corpus} with {name}")
def rank_with_learned(run: str, corpus: str, name: str) -> None:
    """Rank a corpus of the run with the learned linker that it keeps."""
    rank_learned(open_run(run), corpus, name)


@task(task_run_name="cost of asking about {corpus}")
def estimate_cost(run: str, corpus: str, domain: str, approaches: list[Approach]) -> CostEstimate:
    """Estimate what the LLM has still to be asked about a corpus; it is asked nothing."""
    return estimate_approaches(open_run(run), corpus, find_domain(domain), approaches)


@task(task_run_name="ask about {corpus} by batch", **SERVICE_RETRIES)
def ask_by_batch(run: str, corpus: str, domain: str, approaches: list[Approach]) -> BatchState:
    """Submit the first questions about a corpus as a batch, unless that was done, and look how far it is."""
    return batch.ask_by_batch(open_run(run), corpus, find_domain(domain), approaches)


@task(task_run_name="look at the batch about {corpus}", **SERVICE_RETRIES)
def look_at_batch(run: str, corpus: str) -> BatchState:
    """Look how far the batch about a corpus is, and keep the answers that came."""
    return batch.look_at_batch(open_run(run), corpus)


@task(task_run_name="{approach.name} on {corpus}, part {part}", **SERVICE_RETRIES)
def decide_part(run: str, corpus: str, domain: str, approach: Approach, part: int) -> None:
    """Let the LLM decide one part of a corpus."""
    decide_one_part(open_run(run), corpus, find_domain(domain), approach, part, prefect_progress)


@task
def choose_llm_approaches(run: str, domain: str, plan: BenchmarkPlan) -> list[Approach]:
    """Return the approaches with an LLM of a benchmark plan; the rankings must be there."""
    return stage.llm_approaches(open_run(run), find_domain(domain), plan)


@task
def score(run: str, plan: BenchmarkPlan, llm_approaches: list[Approach]) -> stage.Benchmark:
    """Score all approaches of a plan."""
    return stage.finish_benchmark(open_run(run), plan, llm_approaches)


@task
def choose_shortlist(run: str, rule: ShortlistRule) -> Shortlist:
    """Choose the approaches that propose candidates."""
    return run_shortlist(open_run(run), rule)


@task
def choose_quickly(run: str, domain: str) -> Shortlist:
    """Let BM25 alone propose candidates."""
    return quick_shortlist(open_run(run), find_domain(domain))


@task
def build_pools(run: str, domain: str, plan: PoolPlan) -> PoolCounts:
    """Build the candidate pools of the natural pairs."""
    return make_pools(open_run(run), find_domain(domain), plan)
