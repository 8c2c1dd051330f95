"""Steps of a qualification: the gold pair, its project, what applicants said."""

from __future__ import annotations

from prefect import task

from abcdlink.domain import find_domain
from abcdlink.layout import QUALIFICATION_SLUG
from abcdlink.qualification.kept import ANOMALIES, gold_set_of, has_judgments, keep_judgments, people_of
from abcdlink.qualification.prepare import prepare
from abcdlink.store import open_run
from labelstudio_config.qualification import applications_in, qualification_project, qualification_tasks
from labelstudio_config.run.projects import push_project, seen
from labelstudio_config.run.pushed import PushedProject, is_pushed, read_pushed
from tasks.retrying import SERVICE_RETRIES


@task(task_run_name="gold pair")
def take_gold_pair(run: str, domain: str, corpus: str, pair: str, links: int, seed: int) -> dict[str, int]:
    """Take the gold pair into the run; returns counts."""
    gold = prepare(open_run(run), find_domain(domain), corpus, pair, links, seed)
    return {"tasks": len(gold.pools), "links": gold.links}


@task(task_run_name="push qualification", **SERVICE_RETRIES)
def push_gold_pair(run: str, domain: str, applicants: int) -> PushedProject:
    """Put the gold pair into its project, without gold; each task waits for so many applicants."""
    store = open_run(run)
    if is_pushed(store, QUALIFICATION_SLUG):
        return read_pushed(store, QUALIFICATION_SLUG)
    meaning = find_domain(domain)
    tasks = qualification_tasks(run, gold_set_of(store), meaning)
    return push_project(store, QUALIFICATION_SLUG, qualification_project(run, meaning), tasks, needed=applicants)


@task(task_run_name="pull qualification", **SERVICE_RETRIES)
def pull_applicants(run: str) -> dict[str, int]:
    """Read what applicants said; returns counts."""
    store = open_run(run)
    if not has_judgments(store):
        result = applications_in(seen(store, QUALIFICATION_SLUG), gold_set_of(store).pools, people_of(store))
        keep_judgments(store, result.annotators, result.judgments, result.anomalies, result.raw)
    return {"applicants": len(people_of(store)), "anomalies": len(store.read_json(ANOMALIES))}
