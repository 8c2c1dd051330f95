"""Flow annotate: batches go to Label Studio, people judge, the results come back, a feedback round between.

While people work the run is suspended: no process waits. ``reconcile`` resumes it when the batch
is complete; the run then goes through its steps from the top, and each finds its result in the
run's folder. Only a top-level run of a deployment can be suspended.
"""

from __future__ import annotations

from uuid import uuid4

from prefect import flow, get_run_logger, suspend_flow_run
from prefect.runtime import flow_run

from abcdlink.judgments import Annotator
from abcdlink.layout import AGREEMENT, ANNOTATORS, batch_file, batch_slug
from abcdlink.store import Store, open_run
from flows.artifacts import show_agreement, show_project, show_results
from flows.feedback import feedback_round
from flows.parameters import AnnotationParameters, RunKey, run_domain
from tasks.annotation import conclude, measure, pull, push
from tasks.attendance import set_schedule
from tasks.batch_results import pulled_of
from tasks.projects import WaitsFor, look, read_pushed, wait_for
from tasks.runs import add_tag

NAME = "annotate"

SIMULATED_TAG = "simulated-annotators"
"""Tag of a run in which programs judged."""


@flow(name=NAME, flow_run_name="annotate {run}")
def annotate(
    run: RunKey,
    domain: str = "",
    annotation: AnnotationParameters = AnnotationParameters(),
) -> None:
    """Have people judge the candidates of a run, batch by batch; ends with a data set and a report.

    Args:
        run: run key, the name of this whole bootstrap; the same key goes on with what is there.
        domain: name or path of the domain; empty: the one that the run was begun with.
        annotation: how people annotate.
    """
    store = open_run(run)
    domain = run_domain(store, domain)
    overlap = annotation.overlap_in(domain)
    store.note("annotation", {"batches": annotation.batches, "overlap": overlap})
    for batch in range(1, annotation.batches + 1):
        annotate_batch(store, domain, batch, annotation)
        if batch < annotation.batches:
            feedback_round(store, NAME, domain, batch, annotation.auto_feedback)
    show_results(store, conclude(run, annotation.batches, overlap))
    wait_for(store, str(flow_run.id), NAME, WaitsFor.NOTHING, batch_slug(annotation.batches))


def annotate_batch(store: Store, domain: str, batch: int, annotation: AnnotationParameters) -> None:
    """Push a batch, suspend until it is complete, pull and measure it; nothing when that was done before."""
    if store.exists(batch_file(batch, AGREEMENT)):
        return
    overlap, slug = annotation.overlap_in(domain), batch_slug(batch)
    push(store.key, domain, batch, overlap)
    set_schedule(store, slug, annotation.deadline_days, annotation.late_days, annotation.reminder_block)
    while pulled_of(store, batch) is None:
        progress = look(store.key, slug)
        if progress.complete:
            pull(store.key, batch)
        else:
            pushed = read_pushed(store, slug)
            show_project(store.key, pushed)
            wait_for(store, str(flow_run.id), NAME, WaitsFor.ANNOTATORS, slug)
            get_run_logger().info(
                "Batch %d waits for annotators at %s (%d of %d tasks done). This run is suspended now and goes on by "
                "itself; a traceback below that ends in 'paused' is how Prefect reports a suspension, not an error.",
                batch,
                pushed.url,
                progress.done,
                progress.tasks,
            )
            # A key of its own each time: being resumed is a hint, completeness decides.
            suspend_flow_run(key=f"batch-{batch}-{uuid4()}", timeout=None)
    if any(annotator.simulated for annotator in store.read_records(ANNOTATORS, Annotator)):
        add_tag(flow_run.id, SIMULATED_TAG)
    show_agreement(store, batch, measure(store.key, batch, overlap))
