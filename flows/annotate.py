"""Flow annotate: batches go to Label Studio, people judge, the results come back, a feedback round between."""

from __future__ import annotations

from typing import Any

from prefect import flow, get_run_logger, suspend_flow_run
from prefect.input import RunInput
from prefect.runtime import flow_run
from pydantic import ConfigDict, Field, create_model

from abcdlink.domain import SourceFilter, find_domain
from abcdlink.judgments import Annotator
from abcdlink.layout import AGREEMENT, ANNOTATORS, batch_file, batch_slug
from abcdlink.stages.annotate import pulled_of
from abcdlink.stages.batch_preview import BatchPreview, filtered, filters_of, review_of, take_review
from abcdlink.stages.budget import CHOICE
from abcdlink.stages.candidates import NothingToAnnotateError, choose_candidates, plan_by_budget
from abcdlink.stages.gains import measure_gains
from abcdlink.store import Store, open_run
from flows.execution import AS_TASKS
from flows.feedback import feedback_round
from flows.parameters import PeopleParameters, RunKey, run_domain
from flows.ui.artifacts import show_agreement, show_candidates, show_gains, show_preview, show_results
from flows.ui.what_now import NOTED
from flows.waiting import wait_for_annotators, wait_for_coordinator
from labelstudio_config.attendance import set_schedule
from labelstudio_config.pages.annotate import LinkingPage
from labelstudio_config.preview import write_preview
from labelstudio_config.run import is_pushed
from tasks.people import conclude, measure
from tasks.projects import pull, push
from tasks.runs import add_tag

NAME = "annotate"

SIMULATED_TAG = "simulated-annotators"
"""Tag of a run in which programs judged."""


class GoForm(RunInput):
    """What the coordinator says of a batch before annotators see it: the form in the Prefect UI."""

    # Required, so that an empty resume is refused: it was meant for the wait before this one, and decides nothing.
    model_config = ConfigDict(extra="forbid", json_schema_extra={"required": ["min_words"]})

    go: bool = True
    min_words: int = 1
    unproposed: bool = False
    exclude: list[str] = Field(default_factory=list)


def go_form(preview: BatchPreview, problem: str) -> type[GoForm]:
    """Return the form with the filters as they are; its fields say everything, as the UI may cut other text."""
    filters = preview.filters
    refused = f"The filters are unchanged: {problem}. " if problem else ""
    told = (
        f"{refused}Batch {preview.batch} is ready: {preview.size}; {preview.time}. The preview is under Artifacts. On: "
        "annotators see the batch now. Off: you see a new preview, with the filters below, which hold for this batch "
        "and those after it."
    )
    shortest = "Source sentences with fewer words are not shown."
    unproposed = "Show source sentences for which nothing is proposed, too, with random candidates alone."
    exclude = "Regular expressions: a source sentence in which one is found is not shown. (?#...) names one."
    fields: dict[str, Any] = {
        "go": (bool, Field(True, title="Go", description=told)),
        "min_words": (int, Field(filters.min_words, title="Fewest words", description=shortest)),
        "unproposed": (bool, Field(filters.unproposed, title="Without proposals too", description=unproposed)),
        "exclude": (list[str], Field([*filters.exclude], title="Excluded", description=exclude)),
    }
    return create_model("GoForm", __base__=GoForm, **fields)


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
        chosen = find_domain(domain)
        chosen = filtered(chosen, filters_of(store, chosen, batch))
        show_candidates(store.key, AS_TASKS.step(step, choose_candidates, store, chosen, plan, batch))
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
    if annotation.previews and not is_pushed(store, page.slug):
        wait_for_go(store, domain, page)
    push(store.key, domain, page)
    set_schedule(store, page.slug, annotation.deadline_days, annotation.late_days, annotation.reminder_block)
    if pulled_of(store, batch) is None:
        wait_for_annotators(store, NAME, page.slug)
        pull(store.key, page)
    if any(annotator.simulated for annotator in store.read_records(ANNOTATORS, Annotator)):
        add_tag(flow_run.id, SIMULATED_TAG)
    show_agreement(store, batch, measure(store.key, batch, overlap))


def wait_for_go(store: Store, domain: str, page: LinkingPage) -> None:
    """Show a batch to the coordinator, with the filters that they choose, until they give Go.

    The run is suspended meanwhile. Each look has a fixed key: when the run is killed after it was resumed, what was
    filled in is read again.
    """
    batch, chosen = page.batch, find_domain(domain)
    while not (review := review_of(store, batch)).go:
        preview = AS_TASKS.step(f"preview batch {batch}", write_preview, store, chosen, page)
        show_preview(store, preview)
        told = f"Batch {batch} is ready: {preview.size}; {preview.time}. Annotators see it when you say so."
        wait_for_coordinator(store, NAME, batch_slug(batch), told)
        form = go_form(preview, review.problem)
        said = suspend_flow_run(wait_for_input=form, key=f"preview-{batch}-{review.looks}", timeout=None)
        filters = said.model_dump(include=set(SourceFilter.model_fields))
        AS_TASKS.step(f"filter batch {batch}", take_review, store, chosen, batch, filters, said.go)
