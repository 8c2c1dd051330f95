"""Steps of the ratings: sample, push, pull, summarise."""

from __future__ import annotations

from prefect import task

from abcdlink.domain import find_domain
from abcdlink.layout import RATINGS_SLUG
from abcdlink.ratings import has_ratings, keep_ratings, kept_criteria, prepare, sample_of
from abcdlink.ratings.kept import ANOMALIES, raters_of
from abcdlink.ratings.prepare import corpora_of
from abcdlink.store import open_run
from labelstudio_config.rating import rating_project, rating_tasks, ratings_in
from labelstudio_config.run.projects import push_project, seen
from labelstudio_config.run.pushed import PushedProject, is_pushed, read_pushed
from tasks.retrying import SERVICE_RETRIES


@task(task_run_name="sample documents to rate")
def sample(run: str, domain: str, synthetic: int, natural: int, seed: int) -> int:
    """Sample documents; returns how many."""
    return len(prepare(open_run(run), find_domain(domain), synthetic, natural, seed))


@task(task_run_name="push ratings", **SERVICE_RETRIES)
def push_documents(run: str, domain: str, overlap: int) -> PushedProject:
    """Put the sampled documents into their project."""
    store = open_run(run)
    if is_pushed(store, RATINGS_SLUG):
        return read_pushed(store, RATINGS_SLUG)
    meaning = find_domain(domain)
    tasks = rating_tasks(sample_of(store), corpora_of(store), meaning)
    return push_project(store, RATINGS_SLUG, rating_project(run, meaning, kept_criteria(store), overlap), tasks)


@task(task_run_name="pull ratings", **SERVICE_RETRIES)
def pull_documents(run: str) -> dict[str, int]:
    """Read what raters said; returns counts."""
    store = open_run(run)
    if not has_ratings(store):
        snapshot = seen(store, RATINGS_SLUG)
        result = ratings_in(snapshot, sample_of(store), kept_criteria(store), raters_of(store))
        keep_ratings(store, result.annotators, result.ratings, result.anomalies, result.raw)
    return {"raters": len(raters_of(store)), "anomalies": len(store.read_json(ANOMALIES))}
