"""Steps of the annotation: push, look how far it is, pull, measure, feedback, results.

The run's folder is the only truth: a step that finds its result there returns it and does nothing
else. So a flow that is resumed, or killed and run again, goes through all steps anew at no cost.
"""

from __future__ import annotations

from typing import Any

from prefect import task

from abcdlink.agreement import Agreement, agreement
from abcdlink.corpus.io import read_corpus_from
from abcdlink.domain import find_domain
from abcdlink.export import export_dataset
from abcdlink.feedback import memos
from abcdlink.judgments import Annotator, Judgment, Pool
from abcdlink.layout import AGREEMENT, ANNOTATORS, JUDGMENTS, NATURAL, POOLS, batch_file, batch_slug
from abcdlink.report import write_report
from abcdlink.store import Store, open_run
from labelstudio_config.linking import batch_project, batch_tasks, pull_batch
from tasks.projects import PushedProject, is_pushed, label_studio, push_project, read_pushed
from tasks.retrying import SERVICE_RETRIES


def pools_of(store: Store, batch: int | None = None) -> list[Pool]:
    """Return the pools of one batch, or of all."""
    store.require(POOLS, "candidates")
    pools = store.read_records(POOLS, Pool)
    return pools if batch is None else [pool for pool in pools if pool.batch == batch]


@task(task_run_name="push batch {batch}", **SERVICE_RETRIES)
def push(run: str, domain: str, batch: int, overlap: int) -> PushedProject:
    """Put a batch into its Label Studio project."""
    store, slug = open_run(run), batch_slug(batch)
    if is_pushed(store, slug):
        return read_pushed(store, slug)
    meaning = find_domain(domain)
    tasks = batch_tasks(run, batch, pools_of(store, batch), read_corpus_from(store, NATURAL), meaning)
    return push_project(store, slug, batch_project(run, batch, meaning, overlap), tasks)


@task(task_run_name="pull batch {batch}", **SERVICE_RETRIES)
def pull(run: str, batch: int) -> dict[str, int]:
    """Read the judgments of a batch; returns counts. The judgments file is written last."""
    store, name = open_run(run), batch_file(batch, JUDGMENTS)
    if not store.exists(name):
        known = store.read_records(ANNOTATORS, Annotator) if store.exists(ANNOTATORS) else []
        result = pull_batch(label_studio(), run, batch, pools_of(store, batch), known)
        store.write_json(batch_file(batch, "annotations.json"), result.raw)
        store.write_records(ANNOTATORS, result.annotators)
        store.write_records(batch_file(batch, "skips.jsonl"), result.skips)
        store.write_json(batch_file(batch, "anomalies.json"), result.anomalies)
        store.write_records(name, result.judgments)
    return {
        "judgments": len(store.read_records(name, Judgment)),
        "anomalies": len(store.read_json(batch_file(batch, "anomalies.json"))),
    }


@task(task_run_name="agreement of batch {batch}")
def measure(run: str, batch: int, overlap: int) -> Agreement:
    """Compute kappa and acceptance rates of one batch."""
    store, name = open_run(run), batch_file(batch, AGREEMENT)
    if not store.exists(name):
        result = agreement(store.read_records(batch_file(batch, JUDGMENTS), Judgment), overlap)
        store.write_text(name, result.model_dump_json(indent=2))
    return Agreement.model_validate_json(store.read_text(name))


@task(task_run_name="feedback memos of batch {batch}")
def write_memos(run: str, batch: int) -> dict[str, str]:
    """Write one memo per annotator; returns annotator -> Markdown."""
    store = open_run(run)
    texts = memos(
        store.read_records(batch_file(batch, JUDGMENTS), Judgment),
        read_corpus_from(store, NATURAL),
        pools_of(store, batch),
    )
    for annotator, text in texts.items():
        store.write_text(batch_file(batch, f"feedback/{annotator}.md"), text)
    return texts


@task(task_run_name="data set and report")
def conclude(run: str, batches: int, overlap: int) -> dict[str, Any]:
    """Put the batches together: judgments, agreement over all, data set, report; returns where they are."""
    store = open_run(run)
    judgments = [
        judgment
        for batch in range(1, batches + 1)
        for judgment in store.read_records(batch_file(batch, JUDGMENTS), Judgment)
    ]
    store.write_records(JUDGMENTS, judgments)
    store.write_text(AGREEMENT, agreement(judgments, overlap).model_dump_json(indent=2))
    dataset = export_dataset(store, "jsonl")
    return {"judgments": len(judgments), "dataset": list(dataset.files), "report": write_report(store)}
