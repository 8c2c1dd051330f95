"""Flows generate and validate: the synthetic corpus, and whether it looks like the natural one."""

from __future__ import annotations

from prefect import flow

from abcdlink.domain import domain_of, find_domain
from abcdlink.stages.generate import Generation, plan_generation, refuse_to_generate, run_generation
from abcdlink.stages.intake import take_corpus, take_targets
from abcdlink.stages.validate import run_validation
from abcdlink.store import open_run
from abcdlink.validation import Validation
from flows.execution import AS_TASKS
from flows.parameters import FirstPairs, GenerationParameters, RunKey, TargetParameters
from flows.ui.artifacts import show_generation, show_validation
from flows.ui.what_now import NOTED


@flow(name="generate", flow_run_name="generate {run}", **NOTED)
def generate(
    run: RunKey,
    domain: str = "news",
    corpus: str = "sample",
    pairs: FirstPairs = None,
    targets: TargetParameters = TargetParameters(),
    generation: GenerationParameters = GenerationParameters(),
) -> Generation:
    """Take natural pairs, or documents alone, into the run and write a synthetic source document for each target.

    Args:
        run: run key, the name of this whole bootstrap; the same key goes on with what is there.
        domain: name or path of a domain, e.g. news or reviews.
        corpus: folder of a corpus as `abcdlink import` writes it; `sample` is the domain's shipped sample;
            empty: no natural pairs, where targets are given.
        pairs: use only the first N natural pairs; none: all.
        targets: documents to generate for, if not those of the natural pairs.
        generation: how the synthetic corpus is written.
    """
    store, chosen = open_run(run), find_domain(domain)
    refuse_to_generate(generation.like, generation.second_look)
    if corpus or not targets.folder:
        AS_TASKS.step(f"take corpus {corpus}", take_corpus, store, corpus or "sample", chosen, pairs)
    if targets.folder:
        AS_TASKS.step(f"take targets {targets.folder}", take_targets, store, targets.folder, chosen, targets)
    plan = plan_generation(store, *generation.generating())
    result = run_generation(store, chosen, plan, AS_TASKS)
    show_generation(run, result)
    return result


@flow(name="validate", flow_run_name="validate {run}", **NOTED)
def validate(run: RunKey, domain: str = "", beside: list[str] = []) -> Validation:  # noqa: B006 - Prefect copies it
    """Measure the synthetic corpus of a run against its natural one.

    Args:
        run: run key, the name of this whole bootstrap; the same key goes on with what is there.
        domain: name or path of the domain; empty: the one that the run was begun with.
        beside: folders of more corpora to show beside these.
    """
    store = open_run(run)
    result = AS_TASKS.step("validate", run_validation, store, domain_of(store, domain), beside)
    show_validation(run, result)
    return result
