"""Work for people in Label Studio: push, look and pull, the same for every kind of page.

The run's folder is the only source of truth: a step that finds its result there returns it and does nothing
else. So a flow that is resumed, or killed and run again, goes through all its steps at no cost.
"""

from __future__ import annotations

from logging import Logger, LoggerAdapter

from prefect import get_run_logger, task

from abcdlink.domain import find_domain
from abcdlink.store import Store, open_run
from abcdlink.waiting import is_closed
from labelstudio_config.answers import anomalies_in
from labelstudio_config.attendance import awaited_in, note_people_progress
from labelstudio_config.pages import Page
from labelstudio_config.pages.exhaustive import close_if_enough
from labelstudio_config.progress import ProjectProgress, progress_in
from labelstudio_config.projects import let_titles_say, look_now, push_more, push_project
from labelstudio_config.run import PushedProject, is_pushed, last_look, not_said_yet, read_pushed
from tasks.running import SERVICE_RETRIES

Loggers = Logger | LoggerAdapter[Logger]


@task(task_run_name="push {page.slug}", **SERVICE_RETRIES)
def push(run: str, domain: str, page: Page) -> PushedProject | None:
    """Push the tasks of a page into their Label Studio project; ``None`` if there is nothing to ask."""
    store = open_run(run)
    if is_pushed(store, page.slug) and not page.grows:
        return read_pushed(store, page.slug)
    asked = page.ask(store, find_domain(domain))
    if not asked.tasks:
        return None
    return push_more(store, page.slug, asked) if page.grows else push_project(store, page.slug, asked)


@task(task_run_name="look at {slug}", **SERVICE_RETRIES)
def look(run: str, slug: str) -> ProjectProgress:
    """Read the progress of a project's annotators, push missing tasks again, and report each anomaly once."""
    return look_at_people(open_run(run), slug, get_run_logger())


def look_at_people(store: Store, slug: str, logger: Loggers) -> ProjectProgress:
    """Look as the task does, outside a flow."""
    pushed, snapshot = look_now(store, slug)
    for line in not_said_yet(store, slug, anomalies_in(snapshot, str)):
        logger.warning("Run %s, %s: %s.", store.key, slug, line)
    note_people_progress(store, pushed, snapshot)
    close_if_enough(store, slug, snapshot)
    progress = progress_in(snapshot, pushed.task_keys, pushed.overlap, awaited_in(store, slug))
    return progress.model_copy(update={"complete": progress.complete or is_closed(store, slug, progress.tasks)})


@task(task_run_name="pull {page.slug}", **SERVICE_RETRIES)
def pull(run: str, page: Page) -> None:
    """Read and store the answers from the last look at Label Studio."""
    store = open_run(run)
    if not page.is_pulled(store):
        if is_pushed(store, page.slug):
            page.keep(store, last_look(store, page.slug))
        else:
            page.keep_unasked(store)
    if is_pushed(store, page.slug):
        let_titles_say(store, page.slug, closed=True)
