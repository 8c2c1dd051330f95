"""Looking at a project of Label Studio: the same for every kind of project."""

from __future__ import annotations

from prefect import get_run_logger, task

from abcdlink.store import open_run
from labelstudio_config.anomalies import anomalies_in
from labelstudio_config.completeness import Progress, progress_in
from labelstudio_config.run.observing import not_said_yet
from labelstudio_config.run.projects import see
from tasks.retrying import SERVICE_RETRIES


@task(task_run_name="look at {slug}", **SERVICE_RETRIES)
def look(run: str, slug: str) -> Progress:
    """Read how far the annotators of a project are, push back what is missing, and say once what looks wrong."""
    store = open_run(run)
    pushed, snapshot = see(store, slug)
    for line in not_said_yet(store, slug, anomalies_in(snapshot, str)):
        get_run_logger().warning("Run %s, %s: %s.", run, slug, line)
    return progress_in(snapshot, pushed.task_keys, pushed.overlap)
