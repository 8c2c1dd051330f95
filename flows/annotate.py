"""Flow annotate: push a batch to Label Studio, wait for people, pull their judgments, hold a feedback round, repeat."""

from __future__ import annotations

from typing import Any, Literal

from prefect import flow, get_run_logger
from prefect.input import RunInput
from prefect.runtime import flow_run
from pydantic import ConfigDict, Field, create_model

from abcdlink.corpus.io import read_corpus_from
from abcdlink.domain import SourceFilter, domain_of, find_domain
from abcdlink.errors import counted
from abcdlink.interannotator.measures import keep_agreement
from abcdlink.judgments import Annotator, Label
from abcdlink.layout import AGREEMENT, ANNOTATORS, NATURAL, batch_file, batch_slug, feedback_slug
from abcdlink.report import write_report
from abcdlink.stages.annotate import join_batches, pulled_of
from abcdlink.stages.batch_preview import BatchPreview, filtered, filters_of, review_of, take_review
from abcdlink.stages.budget import CHOICE
from abcdlink.stages.candidates import NothingToAnnotateError, batches_of, choose_candidates, overlap_of, plan_by_budget
from abcdlink.stages.feedback import (
    Feedback,
    accept_feedback,
    accepted_in,
    judges_in,
    outcome_in,
    prepare_feedback,
    with_examples,
)
from abcdlink.stages.gains import measure_gains
from abcdlink.store import Store, open_run
from flows.artifacts import (
    show_agreement,
    show_candidates,
    show_feedback,
    show_gains,
    show_outcome,
    show_preview,
    show_results,
)
from flows.parameters import PeopleParameters, RunKey
from flows.waiting import NOTED, ask_people, wait_for_annotators, wait_for_coordinator
from labelstudio_config.attendance import set_schedule
from labelstudio_config.pages.annotate import LinkingPage
from labelstudio_config.pages.feedback import FeedbackPage
from labelstudio_config.preview import write_preview
from labelstudio_config.run import is_pushed
from tasks.execution import AS_TASKS
from tasks.projects import pull, push
from tasks.runs import add_tag

SIMULATED_TAG = "simulated-annotators"
"""Tag of a run that simulated annotators judged."""


class GoForm(RunInput):
    """The coordinator's decision on a batch before annotators see it: the form in the Prefect UI."""

    # Required, so that an empty resume, which was meant for an earlier wait, is refused.
    model_config = ConfigDict(extra="forbid", json_schema_extra={"required": ["min_words"]})

    go: bool


def go_form(preview: BatchPreview, problem: str) -> type[GoForm]:
    """Return the form with the current filters; its fields say everything, since the UI may cut off other text."""
    filters = preview.filters
    refused = f"The filters are unchanged: {problem}. " if problem else ""
    told = (
        f"{refused}Batch {preview.batch} is ready: {preview.size}; {preview.time}. The preview is under Artifacts. On: "
        "annotators see the batch now. Off: you get a new preview with the filters below, which apply to this batch "
        "and later ones."
    )
    shortest = "Source sentences with fewer words are not shown."
    unproposed = "Also show source sentences for which nothing is proposed, with random candidates only."
    exclude = "Regular expressions: a source sentence that matches one is not shown. (?#...) gives it a name."
    fields: dict[str, Any] = {
        "go": (bool, Field(True, title="Go", description=told)),
        "min_words": (int, Field(filters.min_words, title="Fewest words", description=shortest)),
        "unproposed": (bool, Field(filters.unproposed, title="Without proposals too", description=unproposed)),
        "exclude": (list[str], Field([*filters.exclude], title="Excluded", description=exclude)),
    }
    return create_model("GoForm", __base__=GoForm, **fields)


@flow(name="annotate", flow_run_name="annotate {run}", **NOTED)
def annotate(
    run: RunKey,
    domain: str = "",
    annotation: PeopleParameters = PeopleParameters(),
) -> None:
    """Have people judge the candidates of a run, batch by batch; ends with a data set and a report.

    Args:
        run: run key, the name of this whole job; the same key continues it.
        domain: name or path of the domain; empty: the one that the run was started with.
        annotation: how people annotate.
    """
    store = open_run(run)
    domain = domain_of(store, domain).reference
    overlap = overlap_of(store, find_domain(domain), annotation.overlap)
    batches = batches_of(store, annotation.batches, begun="annotation" in store.manifest)
    if batches < annotation.batches:
        there = counted(batches, "batch", "batches")
        get_run_logger().warning("There are candidates for %s only: the run ends after that.", there)
    store.note("annotation", {"batches": batches, "overlap": overlap})
    for batch in range(1, batches + 1):
        if not choose(store, domain, batch):
            batches = batch - 1
            break
        annotate_batch(store, domain, batch, annotation)
        if batch < batches:
            feedback_round(store, domain, batch, annotation.auto_feedback)
    AS_TASKS.step("gains", measure_gains, store)
    results = AS_TASKS.step("data set", join_batches, store, batches, overlap)
    show_results(store, results, AS_TASKS.step("report", write_report, store))


def choose(store: Store, domain: str, batch: int) -> bool:
    """Let the linker learn from the earlier batches and choose this one; tells whether there is one.

    Only when candidates are chosen by budget: in other modes, all batches exist from the start.
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
    """Push a batch, suspend until it is complete, then pull and measure it, unless that is already done."""
    if store.exists(batch_file(batch, AGREEMENT)):
        return
    overlap = overlap_of(store, find_domain(domain), annotation.overlap)
    page = LinkingPage(batch=batch, overlap=overlap, shared=annotation.shared_queue)
    if annotation.previews and not is_pushed(store, page.slug):
        wait_for_go(store, domain, page)
    push(store.key, domain, page)
    set_schedule(store, page.slug, annotation.deadline_days, annotation.late_days, annotation.reminder_block)
    if pulled_of(store, batch) is None:
        wait_for_annotators(store, page.slug)
        pull(store.key, page)
    if any(annotator.simulated for annotator in store.read_records(ANNOTATORS, Annotator)):
        add_tag(flow_run.id, SIMULATED_TAG)
    show_agreement(store, batch, AS_TASKS.step(f"agreement of batch {batch}", keep_agreement, store, batch, overlap))


def wait_for_go(store: Store, domain: str, page: LinkingPage) -> None:
    """Show a batch to the coordinator, with the filters they choose, until they release it.

    The run is suspended meanwhile. Each preview has a fixed key: if the run is killed after it was resumed, the
    form is read again.
    """
    batch, chosen = page.batch, find_domain(domain)
    while not (review := review_of(store, batch)).go:
        preview = AS_TASKS.step(f"preview batch {batch}", write_preview, store, chosen, page)
        show_preview(store, preview)
        told = f"Batch {batch} is ready: {preview.size}; {preview.time}. Annotators see it when you release it."
        form = go_form(preview, review.problem)
        said = wait_for_coordinator(store, batch_slug(batch), told, f"preview-{batch}-{review.looks}", form)
        filters = said.model_dump(include=set(SourceFilter.model_fields))
        AS_TASKS.step(f"filter batch {batch}", take_review, store, chosen, batch, filters, said.go)


class FeedbackForm(RunInput):
    """The coordinator's decision on feedback: the form in the Prefect UI."""

    # Required, so that an empty resume, which was meant for an earlier wait, is refused.
    model_config = ConfigDict(extra="forbid", json_schema_extra={"required": ["clarifications"]})

    clarifications: str = ""
    label_studio_round: bool = Field(
        True, description="Annotators judge the borderline cases again and confirm the guidelines in Label Studio."
    )

    @property
    def examples(self) -> dict[int, Label]:
        """The cases that become examples in the guidelines: number -> what each is an example of."""
        given = {name.removeprefix(CASE): value for name, value in self.model_dump().items() if name.startswith(CASE)}
        return {int(number): Label(value) for number, value in given.items() if value != NO_EXAMPLE}


CASE = "case_"
NO_EXAMPLE = "no example"


def form_for(store: Store, feedback: Feedback) -> type[FeedbackForm]:
    """Return the form, with a choice for each borderline case of whether it becomes an example in the guidelines."""
    corpus = read_corpus_from(store, NATURAL)
    pairs = {pair.id: pair for pair in corpus.pairs}
    fields: dict[str, Any] = {}
    for number, case in enumerate(feedback.cases, start=1):
        pair = pairs[case.pair]
        texts = corpus.source_of(pair).text_of(case.source), corpus.target_of(pair).text_of(case.target)
        told = f"Make it an example in the guidelines? A: “{texts[0]}” B: “{texts[1]}”"
        choice = Literal["no example", "Link", "No Link"]
        fields[f"{CASE}{number}"] = (choice, Field(NO_EXAMPLE, title=f"Case {number}", description=told))
    return create_model("FeedbackForm", __base__=FeedbackForm, **fields)


def feedback_round(store: Store, domain: str, batch: int, auto: bool) -> None:
    """Show memos, cases and draft; wait for the coordinator, then for annotators, unless that is already done.

    ``auto``: whether to continue at once, with the current guidelines and without asking anyone.
    """
    if outcome_in(store, batch):
        return
    feedback = AS_TASKS.step(f"feedback on batch {batch}", prepare_feedback, store, batch)
    accepted = accepted_in(store, batch)
    if accepted is None:
        show_feedback(store, batch, feedback)
        form = FeedbackForm(label_studio_round=False) if auto else ask_coordinator(store, batch, feedback)
        by = "auto_feedback" if auto else "coordinator"
        text = with_examples(store, batch, form.clarifications, form.examples)
        guidelines, step = find_domain(domain).guidelines, f"accept feedback on batch {batch}"
        accepted = AS_TASKS.step(step, accept_feedback, store, batch, guidelines, text, form.label_studio_round, by)
    if accepted.label_studio_round and judges_in(store, batch):
        page = FeedbackPage(batch=batch, clarifications=accepted.clarifications)
        ask_people(store, domain, page, or_resumed="those who have not answered are recorded")
    else:
        pull(store.key, FeedbackPage(batch=batch))
    if accepted.label_studio_round and (outcome := outcome_in(store, batch)):
        show_outcome(store, batch, outcome)


def ask_coordinator(store: Store, batch: int, feedback: Feedback) -> FeedbackForm:
    """Suspend until the coordinator has filled in the form, or done the same on the command line."""
    told = (
        f"The memos of batch {batch} are ready. Talk with the annotators, then resume this run here or with "
        f"`abcdlink feedback start {store.key}`."
    )
    form = form_for(store, feedback).with_initial_data(
        description=f"Edit what is added to the guidelines after batch {batch} (Markdown). Lines that begin with "
        "> DRAFT are left out; if nothing else remains, the guidelines stay as they are. Each case can become an "
        "example below. Memos and cases are under Artifacts.",
        clarifications=feedback.draft,
    )
    # One fixed key: Prefect suspends once for it; if the run is killed later, the form is read again.
    return wait_for_coordinator(store, feedback_slug(batch), told, f"feedback-{batch}", form)
