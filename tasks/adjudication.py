"""Prefect tasks of the adjudication: push what is disputed, read what was decided."""

from __future__ import annotations

from typing import Any

from prefect import task

from abcdlink.corpus.io import read_corpus_from
from abcdlink.domain import find_domain
from abcdlink.feedback import newest_guidelines
from abcdlink.layout import ADJUDICATION_SLUG, NATURAL
from abcdlink.report import write_report
from abcdlink.stages.adjudicate import (
    adjudicators_in,
    judged_so_far,
    keep_adjudications,
    pools_in,
    prepare_adjudication,
)
from abcdlink.stages.annotate import annotators_of
from abcdlink.store import open_run
from labelstudio_config.adjudication import adjudication_project, adjudication_tasks, adjudications_in
from labelstudio_config.pulls import keep_pull
from labelstudio_config.run.projects import push_more, seen
from labelstudio_config.run.pushed import PushedProject
from tasks.retrying import SERVICE_RETRIES


@task(task_run_name="push what is disputed", **SERVICE_RETRIES)
def push(run: str, domain: str, batches: list[int]) -> PushedProject | None:
    """Put the disputes that are new into the project; ``None``: there never were any."""
    store, meaning = open_run(run), find_domain(domain)
    pools = prepare_adjudication(store, batches)
    if not pools:
        return None
    project = adjudication_project(run, meaning, newest_guidelines(store, meaning.guidelines))
    tasks = adjudication_tasks(pools, judged_so_far(store), read_corpus_from(store, NATURAL), meaning)
    return push_more(store, ADJUDICATION_SLUG, project, tasks)


@task(task_run_name="read what was decided", **SERVICE_RETRIES)
def pull(run: str) -> dict[str, Any]:
    """Read the decisions and write data set and report with them; returns how many, and where these lie."""
    store = open_run(run)
    pools = pools_in(store)
    if not pools:
        return {**keep_adjudications(store, [], [], []), "report": write_report(store)}
    snapshot, judgments = seen(store, ADJUDICATION_SLUG), judged_so_far(store)
    result = adjudications_in(snapshot, pools, judgments, annotators_of(store), adjudicators_in(store))
    keep_pull(store, ADJUDICATION_SLUG, result)
    kept = keep_adjudications(store, result.adjudications, result.annotators, result.anomalies)
    return {**kept, "report": write_report(store)}
