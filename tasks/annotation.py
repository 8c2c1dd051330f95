"""Steps of the annotation: push, look how far it is, pull, measure, feedback, results.

The run's folder is the only truth: a step that finds its result there returns it and does nothing
else. So a flow that is resumed, or killed and run again, goes through all steps anew at no cost.
"""

from __future__ import annotations

from typing import Any

from prefect import task

from abcdlink.agreement import Agreement
from abcdlink.corpus.io import read_corpus_from
from abcdlink.domain import find_domain
from abcdlink.feedback import guidelines_for
from abcdlink.judgments import Judgment
from abcdlink.layout import AGREEMENT, ANOMALIES, JUDGMENTS, NATURAL, batch_file, batch_slug
from abcdlink.report import write_report
from abcdlink.stages.annotate import join_batches, keep_agreement, pools_of, pulled_of
from abcdlink.store import open_run
from labelstudio_config.html import guidelines_html
from labelstudio_config.linking import batch_project, batch_tasks
from labelstudio_config.run.batches import keep_result
from labelstudio_config.run.projects import push_project, seen
from labelstudio_config.run.pushed import PushedProject, is_pushed, read_pushed
from tasks.retrying import SERVICE_RETRIES


@task(task_run_name="push batch {batch}", **SERVICE_RETRIES)
def push(run: str, domain: str, batch: int, overlap: int) -> PushedProject:
    """Put a batch into its Label Studio project."""
    store, slug = open_run(run), batch_slug(batch)
    if is_pushed(store, slug):
        return read_pushed(store, slug)
    meaning = find_domain(domain)
    tasks = batch_tasks(run, batch, pools_of(store, batch), read_corpus_from(store, NATURAL), meaning)
    shown = guidelines_html(guidelines_for(store, batch, meaning.guidelines))
    project = batch_project(run, batch, meaning, overlap).model_copy(update={"instruction": shown})
    return push_project(store, slug, project, tasks)


@task(task_run_name="pull batch {batch}", **SERVICE_RETRIES)
def pull(run: str, batch: int) -> dict[str, int]:
    """Read the judgments of a batch from what was last seen of it; returns counts."""
    store = open_run(run)
    if pulled_of(store, batch) is None:
        keep_result(store, batch, seen(store, batch_slug(batch)))
    return {
        "judgments": len(store.read_records(batch_file(batch, JUDGMENTS), Judgment)),
        "anomalies": len(store.read_json(batch_file(batch, ANOMALIES))),
    }


@task(task_run_name="agreement of batch {batch}")
def measure(run: str, batch: int, overlap: int) -> Agreement:
    """Compute kappa and acceptance rates of one batch."""
    store, name = open_run(run), batch_file(batch, AGREEMENT)
    if not store.exists(name):
        return keep_agreement(store, batch, overlap)
    return store.read_record(name, Agreement)


@task(task_run_name="data set and report")
def conclude(run: str, batches: int, overlap: int) -> dict[str, Any]:
    """Put the batches together: judgments, agreement over all, data set, report; returns where they are."""
    store = open_run(run)
    return {**join_batches(store, batches, overlap), "report": write_report(store)}
