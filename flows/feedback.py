"""The feedback round between two batches: part of the flow annotate.

The coordinator edits drafted clarifications in a form; then annotators judge borderline cases again and
acknowledge the new guidelines. The run is suspended for both. Its steps keep their results in the run's
folder, so that a run that is resumed, or killed and started again, goes on where it was.
"""

from __future__ import annotations

from typing import Any, Literal

from prefect import suspend_flow_run
from prefect.input import RunInput
from pydantic import ConfigDict, Field, create_model

from abcdlink.corpus.io import read_corpus_from
from abcdlink.judgments import Label
from abcdlink.layout import NATURAL, feedback_slug
from abcdlink.stages.feedback import Feedback, accepted_in, judges_in, outcome_in, with_examples
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

    @property
    def examples(self) -> dict[int, Label]:
        """The cases that become examples of the guidelines: number -> what each is an example of."""
        given = {name.removeprefix(CASE): value for name, value in self.model_dump().items() if name.startswith(CASE)}
        return {int(number): Label(value) for number, value in given.items() if value != NO_EXAMPLE}


CASE = "case_"
NO_EXAMPLE = "no example"


def form_for(store: Store, feedback: Feedback) -> type[FeedbackForm]:
    """Return the form with a choice for each borderline case: whether it becomes an example of the guidelines."""
    corpus = read_corpus_from(store, NATURAL)
    pairs = {pair.id: pair for pair in corpus.pairs}
    fields: dict[str, Any] = {}
    for number, case in enumerate(feedback.cases, start=1):
        pair = pairs[case.pair]
        texts = corpus.source_of(pair).text_of(case.source), corpus.target_of(pair).text_of(case.target)
        told = f"Make it an example of the guidelines? A: “{texts[0]}” B: “{texts[1]}”"
        choice = Literal["no example", "Link", "No Link"]
        fields[f"{CASE}{number}"] = (choice, Field(NO_EXAMPLE, title=f"Case {number}", description=told))
    return create_model("FeedbackForm", __base__=FeedbackForm, **fields)


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
        text = with_examples(store, batch, form.clarifications, form.examples)
        accepted = accept(store.key, domain, batch, text, form.label_studio_round, by)
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
    form = form_for(store, feedback).with_initial_data(
        description=f"Edit what is added to the guidelines after batch {batch} (Markdown). Lines that begin with "
        "> DRAFT are left out; when nothing else is left, the guidelines stay. Each borderline case can become an "
        "example below. Memos and cases are under Artifacts.",
        clarifications=feedback.draft,
    )
    # One fixed key: Prefect suspends once for it; when the run was killed later, what was filled in is read again.
    return suspend_flow_run(wait_for_input=form, key=f"feedback-{batch}", timeout=None)


def ask_annotators(store: Store, flow: str, domain: str, batch: int, clarifications: str) -> None:
    """Push the round's project and suspend until all annotators answered, or the coordinator goes on without."""
    page = FeedbackPage(batch=batch, clarifications=clarifications)
    push(store.key, domain, page)
    wait_for_annotators(store, flow, page.slug, or_resumed="who has not answered is recorded")
