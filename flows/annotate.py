"""Flow annotate: batches go to Label Studio, people judge, the results come back, a feedback round between."""

from __future__ import annotations

from prefect import flow, get_run_logger
from prefect.runtime import flow_run

from abcdlink.domain import find_domain
from abcdlink.judgments import Annotator
from abcdlink.layout import AGREEMENT, ANNOTATORS, batch_file
from abcdlink.stages.annotate import pulled_of
from abcdlink.stages.budget import CHOICE
from abcdlink.stages.candidates import NothingToAnnotateError, choose_candidates, plan_by_budget
from abcdlink.stages.gains import measure_gains
from abcdlink.store import Store, open_run
from flows.execution import AS_TASKS
from flows.feedback import feedback_round
from flows.parameters import PeopleParameters, RunKey, run_domain
from flows.ui.artifacts import show_agreement, show_candidates, show_gains, show_results
from flows.ui.what_now import NOTED
from flows.waiting import wait_for_annotators
from labelstudio_config.attendance import set_schedule
from labelstudio_config.pages.annotate import LinkingPage
from tasks.people import conclude, measure
from tasks.projects import pull, push
from tasks.runs import add_tag

NAME = "annotate"

SIMULATED_TAG = "simulated-annotators"
"""Tag of a run in which programs judged."""


@flow(name=NAME, flow_run_name="annotate {run}", **NOTED)
def annotate(
    run: RunKey,
    domain: str = "",
    annotation: PeopleParameters = PeopleParameters(),
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
    batches = annotation.batches
    for batch in range(1, annotation.batches + 1):
        if not choose(store, domain, batch):
            batches = batch - 1
            break
        annotate_batch(store, domain, batch, annotation)
        if batch < annotation.batches:
            feedback_round(store, NAME, domain, batch, annotation.auto_feedback)
    show_results(store, conclude(run, batches, overlap))


def choose(store: Store, domain: str, batch: int) -> bool:
    """Let the linker learn from the batches before and choose this one; tells whether there is one.

    Only where candidates are chosen by budget: in other modes all batches are there from the start.
    """
    plan = plan_by_budget(store)
    if plan is None:
        return True
    gains = AS_TASKS.step("gains so far", measure_gains, store)
    if store.exists(batch_file(batch, CHOICE)):
        return True
    try:
        step = f"learn, and choose batch {batch}"
        show_candidates(store.key, AS_TASKS.step(step, choose_candidates, store, find_domain(domain), plan, batch))
    except NothingToAnnotateError as error:
        get_run_logger().info("%s.", error.problem)
        return False
    if gains:
        show_gains(store.key, AS_TASKS.step("gains so far", measure_gains, store))
    return True


def annotate_batch(store: Store, domain: str, batch: int, annotation: PeopleParameters) -> None:
    """Push a batch, suspend until it is complete, pull and measure it; nothing when that was done before."""
    if store.exists(batch_file(batch, AGREEMENT)):
        return
    overlap = annotation.overlap_in(domain)
    page = LinkingPage(batch=batch, overlap=overlap, shared=annotation.shared_queue)
    push(store.key, domain, page)
    set_schedule(store, page.slug, annotation.deadline_days, annotation.late_days, annotation.reminder_block)
    if pulled_of(store, batch) is None:
        wait_for_annotators(store, NAME, page.slug)
        pull(store.key, page)
    if any(annotator.simulated for annotator in store.read_records(ANNOTATORS, Annotator)):
        add_tag(flow_run.id, SIMULATED_TAG)
    show_agreement(store, batch, measure(store.key, batch, overlap))
