"""Flows generate and validate: the synthetic corpus, and whether it looks like the natural one."""

from __future__ import annotations

from prefect import flow

from abcdlink.layout import GENERATION
from abcdlink.stages.generate import Generation, generation_done, plan_generation
from abcdlink.store import open_run
from abcdlink.validation import Validation
from flows.parameters import FirstPairs, GenerationParameters, RunKey, run_domain
from flows.ui.artifacts import show_generation, show_validation
from tasks.corpus import assemble_synthetic, generate_part, intake, validate_synthetic


@flow(name="generate", flow_run_name="generate {run}")
def generate(
    run: RunKey,
    domain: str = "news",
    corpus: str = "sample",
    pairs: FirstPairs = None,
    generation: GenerationParameters = GenerationParameters(),
) -> Generation:
    """Take a natural corpus into the run and write a synthetic source document for each target document.

    Args:
        run: run key, the name of this whole bootstrap; the same key goes on with what is there.
        domain: name or path of a domain, e.g. news or reviews.
        corpus: folder of a corpus as `abcdlink import` writes it; `sample` is the domain's shipped sample.
        pairs: use only the first N natural pairs; none: all.
        generation: how the synthetic corpus is written.
    """
    store = open_run(run)
    intake(run, domain, corpus, pairs)
    plan = plan_generation(store, generation.strategy, generation.seed, generation.documents)
    if generation_done(store, plan):
        result = store.read_record(GENERATION, Generation)
    else:
        for part in range(len(plan.parts)):
            generate_part(run, domain, plan, part)
        result = assemble_synthetic(run, plan)
    show_generation(run, result)
    return result


@flow(name="validate", flow_run_name="validate {run}")
def validate(run: RunKey, domain: str = "") -> Validation:
    """Measure the synthetic corpus of a run against its natural one.

    Args:
        run: run key, the name of this whole bootstrap; the same key goes on with what is there.
        domain: name or path of the domain; empty: the one that the run was begun with.
    """
    result = validate_synthetic(run, run_domain(open_run(run), domain))
    show_validation(run, result)
    return result
