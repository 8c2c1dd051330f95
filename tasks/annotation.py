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
from abcdlink.layout import AGREEMENT, ANNOTATORS, JUDGMENTS, NATURAL, POOLS, WAITING, batch_file
from abcdlink.report import write_report
from abcdlink.settings import get_settings
from abcdlink.store import Store, open_run
from labelstudio_config.client import Client, connect
from labelstudio_config.completeness import BatchProgress, progress_of
from labelstudio_config.pull import pull_batch
from labelstudio_config.push import push_batch
from tasks.retrying import SERVICE_RETRIES


def label_studio() -> Client:
    """Connect to the Label Studio of the settings."""
    settings = get_settings()
    return connect(settings.label_studio_url, settings.label_studio_token.get_secret_value())


def pools_of(store: Store, batch: int | None = None) -> list[Pool]:
    """Return the pools of one batch, or of all."""
    store.require(POOLS, "candidates")
    pools = store.read_records(POOLS, Pool)
    return pools if batch is None else [pool for pool in pools if pool.batch == batch]


@task(task_run_name="push batch {batch}", **SERVICE_RETRIES)
def push(run: str, domain: str, batch: int, overlap: int) -> dict[str, Any]:
    """Put a batch into its Label Studio project; returns project, url, tasks."""
    store, name = open_run(run), batch_file(batch, "push.json")
    if not store.exists(name):
        corpus = read_corpus_from(store, NATURAL)
        pools = pools_of(store, batch)
        result = push_batch(label_studio(), run, batch, pools, corpus, find_domain(domain), overlap=overlap)
        store.write_json(name, {"project": result.project_id, "url": result.url, "tasks": len(pools)})
    return dict(store.read_json(name))


@task(task_run_name="look at batch {batch}", **SERVICE_RETRIES)
def look(run: str, batch: int, overlap: int) -> BatchProgress:
    """Read how far the annotators are; a batch that was pulled is not asked for again."""
    store = open_run(run)
    return progress_of(label_studio(), run, batch, pools_of(store, batch), overlap)


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


def wait_for(store: Store, flow_run: str, kind: str, batch: int, overlap: int) -> None:
    """Note what the run is about to wait for: ``annotators``, ``feedback`` or, at its end, ``nothing``."""
    store.write_json(WAITING, {"flow_run": flow_run, "for": kind, "batch": batch, "overlap": overlap})
