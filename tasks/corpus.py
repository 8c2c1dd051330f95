"""Steps that make the synthetic corpus: intake, generation part by part, validation."""

from __future__ import annotations

from prefect import task

from abcdlink.domain import find_domain
from abcdlink.stages.generate import Generation, GenerationPlan, finish_generation
from abcdlink.stages.generate import generate_part as generate_one_part
from abcdlink.stages.intake import take_corpus
from abcdlink.stages.validate import run_validation
from abcdlink.store import open_run
from abcdlink.validation import Validation
from tasks.progress import prefect_progress
from tasks.retrying import SERVICE_RETRIES


@task(task_run_name="take corpus {corpus}")
def intake(run: str, domain: str, corpus: str, pairs: int | None) -> int:
    """Copy the natural corpus into the run; returns the number of pairs."""
    return len(take_corpus(open_run(run), corpus, find_domain(domain), pairs).pairs)


@task(task_run_name="generate part {part}", **SERVICE_RETRIES)
def generate_part(run: str, domain: str, plan: GenerationPlan, part: int) -> None:
    """Generate one part of the synthetic pairs."""
    generate_one_part(open_run(run), find_domain(domain), plan, part, prefect_progress)


@task
def assemble_synthetic(run: str, plan: GenerationPlan) -> Generation:
    """Put the generated parts together."""
    return finish_generation(open_run(run), plan)


@task
def validate_synthetic(run: str, domain: str) -> Validation:
    """Measure the synthetic corpus against the natural one."""
    return run_validation(open_run(run), find_domain(domain))
