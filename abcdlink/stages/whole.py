"""All stages up to the candidates, in order, for both the flows and the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from abcdlink.corpus.records import Record
from abcdlink.corpus.sampling import Sampling
from abcdlink.domain import Domain
from abcdlink.evaluation.shortlist import ShortlistRule
from abcdlink.retrieval.registry import get_retriever
from abcdlink.stages.benchmark import run_benchmark
from abcdlink.stages.candidates import PoolCounts, PoolPlan, run_candidates
from abcdlink.stages.execution import Execution
from abcdlink.stages.generate import Generating, plan_generation, refuse_to_generate, run_generation, run_validation
from abcdlink.stages.intake import take_corpus, take_targets
from abcdlink.stages.plan import BenchmarkPlan
from abcdlink.stages.shortlist import quick_shortlist, read_shortlist, refuse_quick, run_shortlist
from abcdlink.store import Store

Show = Callable[[str, Record], None]
"""Shows the result of a stage, by the stage's name."""


class WholeJob(NamedTuple):
    """What to do.

    ``pairs``: only the first N. ``targets``: folder of documents to generate for, of which ``sampling`` takes some;
    empty: those of the pairs. ``quick``: BM25 alone proposes; no LLM is used.
    """

    corpus: str
    pairs: int | None
    targets: str
    sampling: Sampling
    generating: Generating
    benchmark: BenchmarkPlan
    shortlist: ShortlistRule
    pools: PoolPlan
    quick: bool = False


def begin(store: Store, domain: Domain, job: WholeJob, execution: Execution) -> None:
    """Take the corpus and choose what needs no benchmark; reject at once what would otherwise fail hours later.

    Raises:
        InputError: when a corpus or retriever does not exist, the second look would use the model that writes,
            or the run was started as another kind of job.
    """
    if not job.quick:
        refuse_quick(store)
        for name in job.benchmark.retrievers:
            get_retriever(name)
        refuse_to_generate(job.generating)
    execution.step(f"take corpus {job.corpus}", take_corpus, store, job.corpus, domain, job.pairs)
    if job.targets:
        execution.step(f"take targets {job.targets}", take_targets, store, job.targets, domain, job.sampling)
    if job.quick:
        execution.step("shortlist", quick_shortlist, store, domain)


def up_to_candidates(store: Store, domain: Domain, job: WholeJob, execution: Execution, show: Show) -> PoolCounts:
    """Do all stages; what is already done is not repeated.

    Raises:
        AnswersPendingError: a batch of questions has not been answered yet.
        InputError: when a stage was started with other settings.
    """
    begin(store, domain, job, execution)
    if job.quick:
        show("shortlist", read_shortlist(store))
    else:
        plan = plan_generation(store, job.generating)
        show("generate", run_generation(store, domain, plan, execution))
        show("validate", execution.step("validate", run_validation, store, domain))
        show("benchmark", run_benchmark(store, domain, job.benchmark, execution))
        show("shortlist", execution.step("shortlist", run_shortlist, store, job.shortlist))
    counts = run_candidates(store, domain, job.pools, execution)
    show("candidates", counts)
    return counts
