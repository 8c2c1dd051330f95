"""The feedback round between two batches: part of the flow annotate.

The coordinator edits drafted clarifications in a form; then annotators judge borderline cases again and
acknowledge the new guidelines. The run is suspended for both. Its steps keep their results in the run's
folder, so that a run that is resumed, or killed and started again, goes on where it was.
"""

from __future__ import annotations

from prefect import get_run_logger, suspend_flow_run
from prefect.input import RunInput
from prefect.runtime import flow_run
from pydantic import ConfigDict, Field

from abcdlink.layout import feedback_slug
from abcdlink.stages.feedback import Feedback, accepted_in, outcome_in
from abcdlink.store import Store
from flows.artifacts import show_feedback, show_outcome, show_project
from tasks.feedback import accept, annotators_of, end, prepare, push
from tasks.projects import WaitsFor, look, wait_for


class FeedbackForm(RunInput):
    """What the coordinator says: the form in the Prefect UI."""

    # Required, so that an empty resume is refused: it was meant for the wait before this one, and decides nothing.
    model_config = ConfigDict(extra="forbid", json_schema_extra={"required": ["clarifications"]})

    clarifications: str = ""
    label_studio_round: bool = Field(
        True, description="Annotators judge the borderline cases again and acknowledge the guidelines in Label Studio."
    )


def feedback_round(store: Store, flow: str, domain: str, batch: int, auto: bool) -> None:
    """Show memos, cases and draft; wait for the coordinator, then for annotators; nothing when that was before.

    Args:
        store: the run.
        flow: name of the flow that this is part of.
        domain: name or path of the domain.
        batch: after which the round is.
        auto: whether to go on at once, with the guidelines as they are and without asking anybody.
    """
    if outcome_in(store, batch):
        return
    feedback = prepare(store.key, batch)
    accepted = accepted_in(store, batch)
    if accepted is None:
        show_feedback(store, batch, feedback)
        form = FeedbackForm(label_studio_round=False) if auto else ask_coordinator(store, flow, batch, feedback)
        by = "auto_feedback" if auto else "coordinator"
        accepted = accept(store.key, domain, batch, form.clarifications, form.label_studio_round, by)
    if accepted.label_studio_round and annotators_of(store, batch):
        ask_annotators(store, flow, domain, batch, accepted.clarifications)
    outcome = end(store.key, batch)
    if accepted.label_studio_round:
        show_outcome(store, batch, outcome)


def ask_coordinator(store: Store, flow: str, batch: int, feedback: Feedback) -> FeedbackForm:
    """Suspend until the coordinator has filled in the form, or said the same on the command line."""
    wait_for(store, str(flow_run.id), flow, WaitsFor.COORDINATOR, feedback_slug(batch))
    get_run_logger().info(
        "The memos of batch %d are ready. Talk with the annotators, then resume this run here or with "
        "`abcdlink feedback accept %s`. This run is suspended now; a traceback below that ends in 'paused' is how "
        "Prefect reports it.",
        batch,
        store.key,
    )
    form = FeedbackForm.with_initial_data(
        description=f"Edit what is added to the guidelines after batch {batch} (Markdown). Lines that begin with "
        "> DRAFT are left out; when nothing else is left, the guidelines stay. Memos and cases are under Artifacts.",
        clarifications=feedback.draft,
    )
    # One fixed key: Prefect suspends once for it; when the run was killed later, what was filled in is read again.
    return suspend_flow_run(wait_for_input=form, key=f"feedback-{batch}", timeout=None)


def ask_annotators(store: Store, flow: str, domain: str, batch: int, clarifications: str) -> None:
    """Push the round's project and suspend until all annotators answered, or the coordinator goes on without."""
    pushed = push(store.key, domain, batch, clarifications)
    if look(store.key, pushed.slug).complete:
        return
    show_project(store.key, pushed)
    wait_for(store, str(flow_run.id), flow, WaitsFor.ANNOTATORS, feedback_slug(batch))
    get_run_logger().info(
        "Annotators judge the cases again at %s. This run is suspended now. It goes on when all have answered, or "
        "when it is resumed, here or with `abcdlink feedback accept %s`: who has not answered is recorded.",
        pushed.url,
        store.key,
    )
    # One fixed key: whoever resumes the run ends the round, so that someone who vanished does not hold it.
    suspend_flow_run(key=f"feedback-{batch}-answers", timeout=None)
