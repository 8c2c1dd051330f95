"""The feedback round between two batches: part of the flow annotate.

The coordinator edits drafted clarifications in a form; then annotators judge borderline cases again and
acknowledge the new guidelines. The run is suspended for both. Its steps keep their results in the run's
folder, so that a run that is resumed, or killed and started again, goes on where it was.
"""

from __future__ import annotations

from prefect import suspend_flow_run
from prefect.input import RunInput
from pydantic import ConfigDict, Field

from abcdlink.layout import feedback_slug
from abcdlink.stages.feedback import Feedback, accepted_in, judges_in, outcome_in
from abcdlink.store import Store
from flows.ui.artifacts import show_feedback, show_outcome
from flows.waiting import wait_for_annotators, wait_for_coordinator
from labelstudio_config.pages.feedback import FeedbackPage
from tasks.people import accept, begin_feedback
from tasks.projects import pull, push


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
    feedback = begin_feedback(store.key, batch)
    accepted = accepted_in(store, batch)
    if accepted is None:
        show_feedback(store, batch, feedback)
        form = FeedbackForm(label_studio_round=False) if auto else ask_coordinator(store, flow, batch, feedback)
        by = "auto_feedback" if auto else "coordinator"
        accepted = accept(store.key, domain, batch, form.clarifications, form.label_studio_round, by)
    if accepted.label_studio_round and judges_in(store, batch):
        ask_annotators(store, flow, domain, batch, accepted.clarifications)
    pull(store.key, FeedbackPage(batch=batch))
    if accepted.label_studio_round and (outcome := outcome_in(store, batch)):
        show_outcome(store, batch, outcome)


def ask_coordinator(store: Store, flow: str, batch: int, feedback: Feedback) -> FeedbackForm:
    """Suspend until the coordinator has filled in the form, or said the same on the command line."""
    told = (
        f"The memos of batch {batch} are ready. Talk with the annotators, then resume this run here or with "
        f"`abcdlink feedback start {store.key}`."
    )
    wait_for_coordinator(store, flow, feedback_slug(batch), told)
    form = FeedbackForm.with_initial_data(
        description=f"Edit what is added to the guidelines after batch {batch} (Markdown). Lines that begin with "
        "> DRAFT are left out; when nothing else is left, the guidelines stay. Memos and cases are under Artifacts.",
        clarifications=feedback.draft,
    )
    # One fixed key: Prefect suspends once for it; when the run was killed later, what was filled in is read again.
    return suspend_flow_run(wait_for_input=form, key=f"feedback-{batch}", timeout=None)


def ask_annotators(store: Store, flow: str, domain: str, batch: int, clarifications: str) -> None:
    """Push the round's project and suspend until all annotators answered, or the coordinator goes on without."""
    page = FeedbackPage(batch=batch, clarifications=clarifications)
    push(store.key, domain, page)
    wait_for_annotators(store, flow, page.slug, or_resumed="who has not answered is recorded")
