"""Steps of a feedback round: memos, cases and draft; what the coordinator accepts; push; answers and outcome.

Each step finds its result in the run's folder and returns it, however often the flow goes through them.
"""

from __future__ import annotations

from prefect import task

from abcdlink.corpus.io import read_corpus_from
from abcdlink.domain import find_domain
from abcdlink.feedback import Accepted, Outcome, newest_guidelines
from abcdlink.layout import ANNOTATORS, NATURAL, batch_file, feedback_slug
from abcdlink.stages.annotate import annotators_of
from abcdlink.stages.feedback import (
    Feedback,
    accept_feedback,
    end_feedback,
    end_unasked,
    judged_in,
    outcome_in,
    prepare_feedback,
)
from abcdlink.store import Store, open_run
from labelstudio_config.feedback import feedback_project, feedback_tasks, notice_key
from labelstudio_config.feedback.pull import feedback_in
from labelstudio_config.pulls import keep_pull
from labelstudio_config.run.projects import push_project, seen
from labelstudio_config.run.pushed import PushedProject, is_pushed, read_pushed
from tasks.retrying import SERVICE_RETRIES


@task(task_run_name="feedback on batch {batch}")
def prepare(run: str, batch: int) -> Feedback:
    """Write one memo per annotator, the borderline cases and drafted clarifications."""
    return prepare_feedback(open_run(run), batch)


@task(task_run_name="accept feedback on batch {batch}")
def accept(run: str, domain: str, batch: int, clarifications: str, label_studio_round: bool, by: str) -> Accepted:
    """Keep what was accepted; the guidelines get a new version."""
    text = find_domain(domain).guidelines
    return accept_feedback(open_run(run), batch, text, clarifications, label_studio_round, by)


@task(task_run_name="push feedback on batch {batch}", **SERVICE_RETRIES)
def push(run: str, domain: str, batch: int, clarifications: str) -> PushedProject:
    """Put the cases and the new guidelines into a project that all annotators of the batch answer."""
    store, slug = open_run(run), feedback_slug(batch)
    if is_pushed(store, slug):
        return read_pushed(store, slug)
    meaning = find_domain(domain)
    guidelines = newest_guidelines(store, meaning.guidelines)
    cases, corpus = prepare_feedback(store, batch).cases, read_corpus_from(store, NATURAL)
    people = len(judges_of(store, batch))
    tasks = feedback_tasks(run, batch, cases, corpus, meaning, clarifications, guidelines)
    return push_project(store, slug, feedback_project(run, batch, meaning, guidelines, people), tasks)


def judges_of(store: Store, batch: int) -> list[str]:
    """Return the pseudonyms of those who judged a batch."""
    return sorted({judgment.annotator for judgment in judged_in(store, batch)})


@task(task_run_name="end feedback on batch {batch}", **SERVICE_RETRIES)
def end(run: str, batch: int) -> Outcome:
    """Read what annotators answered so far, where they were asked in Label Studio, and count what came of it."""
    store = open_run(run)
    if outcome_in(store, batch) or not is_pushed(store, feedback_slug(batch)):
        return end_unasked(store, batch)
    snapshot, cases = seen(store, feedback_slug(batch)), prepare_feedback(store, batch).cases
    result = feedback_in(snapshot, batch, cases, notice_key(run, batch), annotators_of(store))
    store.write_records(ANNOTATORS, result.annotators)
    keep_pull(store, batch_file(batch, "feedback"), result)
    return end_feedback(store, batch, result.answers, result.acknowledgements)
