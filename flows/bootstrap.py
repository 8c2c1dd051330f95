"""Flow bootstrap: the whole job, from a natural corpus to batches in front of annotators."""

from __future__ import annotations

from prefect import flow, get_run_logger
from prefect.artifacts import create_link_artifact
from prefect.settings import PREFECT_UI_URL

from abcdlink.domain import Setting, find_domain, in_setting
from abcdlink.evaluation.shortlist import ShortlistRule
from abcdlink.layout import NATURAL, SYNTHETIC
from abcdlink.stages.intake import take_corpus
from abcdlink.stages.shortlist import quick_shortlist, refuse_quick
from abcdlink.store import open_run
from flows.benchmark import benchmark as benchmark_flow
from flows.benchmark import shortlist as shortlist_flow
from flows.candidates import candidates
from flows.execution import AS_TASKS
from flows.generate import generate, validate
from flows.llm_batch import wait_for_answers
from flows.parameters import (
    AnnotationParameters,
    BenchmarkParameters,
    FirstPairs,
    GenerationParameters,
    RunKey,
    TargetParameters,
    annotation_of_one,
)
from flows.ui.artifacts import key, show_shortlist
from tasks.runs import start_once

ANNOTATE = "annotate/annotate"


@flow(name="bootstrap", flow_run_name="bootstrap {run}")
def bootstrap(
    run: RunKey,
    domain: str = "news",
    setting: Setting | None = None,
    corpus: str = "sample",
    pairs: FirstPairs = None,
    targets: TargetParameters = TargetParameters(),
    generation: GenerationParameters = GenerationParameters(),
    benchmark: BenchmarkParameters = BenchmarkParameters(),
    shortlist: ShortlistRule = ShortlistRule(),
    annotation: AnnotationParameters = AnnotationParameters(),
    quick: bool = False,
) -> None:
    """Generate, validate, benchmark, shortlist, build pools; then start the flow annotate.

    Annotation is a run of its own: only a top-level run can be suspended while people work, and a
    suspended run goes through its steps from the top when it is resumed.

    Args:
        run: run key, the name of this whole bootstrap; the same key goes on with what is there.
        domain: name or path of a domain, e.g. news or reviews.
        setting: paper: prompts and numbers as in the paper; empty: as the domain says.
        corpus: folder of a corpus as `abcdlink import` writes it; `sample` is the domain's shipped sample.
        pairs: use only the first N natural pairs; empty: all.
        targets: documents to generate for, if not those of the natural pairs.
        generation: how the synthetic corpus is written.
        benchmark: which approaches are compared.
        shortlist: how the two that propose candidates are chosen.
        annotation: which candidates annotators see, and how they annotate them.
        quick: skip generation and benchmark and ask no LLM; BM25 alone proposes candidates, to try the page.
    """
    domain = in_setting(domain, setting)
    if quick:
        annotation = choose_without_benchmark(run, domain, corpus, pairs, annotation)
    else:
        refuse_quick(open_run(run))
        generate(run, domain, corpus, pairs, targets, generation)
        validate(run, domain)
        if benchmark_flow(run, domain, benchmark) is None:
            wait_for_answers(SYNTHETIC)
        shortlist_flow(run, shortlist)
    if candidates(run, domain, annotation.pools()) is None:
        wait_for_answers(NATURAL)
    start_annotation(run, domain, annotation)


def choose_without_benchmark(
    run: str, domain: str, corpus: str, pairs: int | None, annotation: AnnotationParameters
) -> AnnotationParameters:
    """Take a corpus into the run and let BM25 propose; returns the annotation of what one approach proposes.

    Raises:
        InputError: when the candidates are to come from two approaches.
    """
    annotation = annotation_of_one(annotation)
    store, chosen = open_run(run), find_domain(domain)
    AS_TASKS.step(f"take corpus {corpus}", take_corpus, store, corpus, chosen, pairs)
    show_shortlist(run, AS_TASKS.step("shortlist", quick_shortlist, store, chosen))
    return annotation


def start_annotation(run: str, domain: str, annotation: AnnotationParameters) -> None:
    """Start the flow annotate once for this run key and link to it."""
    parameters = {"run": run, "domain": domain, "annotation": annotation.people()}
    started = start_once(ANNOTATE, parameters, f"annotate-{run}")
    link = f"{PREFECT_UI_URL.value()}/runs/flow-run/{started.id}"
    create_link_artifact(key=key(run, "annotate"), link=link, link_text=f"Annotation of {run}")
    get_run_logger().info("The annotation of %s goes on in its own run: %s", run, link)
