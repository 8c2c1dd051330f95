"""Pushes and pulls single projects without a run: what the pages make and read, straight from a server."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Any

from abcdlink.corpus.records import Corpus
from abcdlink.criteria import Criterion
from abcdlink.domain import Domain
from abcdlink.feedback import Case
from abcdlink.judgments import Annotator, Judgment, Pool
from abcdlink.rate import RatedDocument
from abcdlink.source_sample import SampledSource
from labelstudio_config.client import Client
from labelstudio_config.history import remember
from labelstudio_config.pages import JudgmentsPull, title_of
from labelstudio_config.pages.adjudicate import AdjudicationPull, adjudication_title, adjudications_in
from labelstudio_config.pages.annotate import batch_project, batch_tasks, batch_title, judgments_in, of_batch
from labelstudio_config.pages.exhaustive import judgments_in as exhaustive_judgments_in
from labelstudio_config.pages.feedback import FeedbackPull, feedback_in, feedback_title, notice_key
from labelstudio_config.pages.qualify import applications_in
from labelstudio_config.pages.rate import RatingPull, ratings_in
from labelstudio_config.progress import ProjectProgress, progress_in
from labelstudio_config.projects import push_tasks
from labelstudio_config.run import ProjectAt, require_project
from labelstudio_config.snapshot import Snapshot, snapshot_of


class OneProject:
    """Stands in for a ``Client`` when only one project is read: its title, its tasks, and the accounts."""

    url = "http://127.0.0.1:1"

    def __init__(self, title: str, tasks: list[dict[str, Any]], accounts: dict[int, str]) -> None:
        self._title, self._tasks, self._accounts = title, tasks, accounts

    def projects_titled(self, title: str) -> dict[int, int]:
        return {3: len(self._tasks)} if title == self._title else {}

    def tasks(self, _project: int) -> list[dict[str, Any]]:
        return self._tasks

    def accounts(self) -> dict[int, str]:
        return self._accounts


def read_project(client: Client, title: str, keys: Collection[str]) -> Snapshot:
    """Read a project as it is now."""
    project = require_project(client, title)
    tasks = [{**task, "project": project} for task in client.tasks(project)]
    return snapshot_of(remember(None, [project], tasks, client.accounts(), datetime.now(UTC)), keys)


def progress_of(client: Client, title: str, keys: Collection[str], overlap: int) -> ProjectProgress:
    return progress_in(read_project(client, title, keys), keys, overlap)


def keys_of(pools: Sequence[Pool], batch: int) -> tuple[str, ...]:
    return tuple(of_batch(pools, batch))


def push_batch(
    client: Client, run: str, batch: int, pools: Sequence[Pool], corpus: Corpus, domain: Domain, overlap: int = 0
) -> ProjectAt:
    project = batch_project(run, batch, domain, overlap or domain.settings.overlap)
    return push_tasks(client, project, batch_tasks(run, batch, pools, corpus, domain))


def pull_batch(
    client: Client, run: str, batch: int, pools: Sequence[Pool], annotators: Sequence[Annotator] = ()
) -> JudgmentsPull:
    wanted = of_batch(pools, batch)
    return judgments_in(read_project(client, batch_title(run, batch), wanted), wanted, annotators)


def pull_qualification(client: Client, run: str, pools: Sequence[Pool]) -> JudgmentsPull:
    snapshot = read_project(client, title_of(run, "qualification"), [pool.key for pool in pools])
    return applications_in(snapshot, pools, ())


def pull_exhaustive(
    client: Client, run: str, sources: Sequence[SampledSource], corpus: Corpus, annotators: Sequence[Annotator] = ()
) -> JudgmentsPull:
    snapshot = read_project(client, title_of(run, "exhaustive"), [source.key for source in sources])
    return exhaustive_judgments_in(snapshot, sources, corpus, annotators)


def pull_feedback(
    client: Client, run: str, batch: int, cases: Sequence[Case], annotators: Sequence[Annotator] = ()
) -> FeedbackPull:
    notice = notice_key(run, batch)
    snapshot = read_project(client, feedback_title(run, batch), [*(case.key for case in cases), notice])
    return feedback_in(snapshot, batch, cases, notice, annotators)


def pull_adjudications(
    client: Client, run: str, pools: Sequence[Pool], judgments: Sequence[Judgment], *people: Any
) -> AdjudicationPull:
    snapshot = read_project(client, adjudication_title(run), [pool.key for pool in pools])
    annotators, adjudicators = (*people, (), ())[:2]
    return adjudications_in(snapshot, pools, judgments, annotators, adjudicators)


def pull_ratings(
    client: Client, run: str, documents: Sequence[RatedDocument], criteria: Sequence[Criterion]
) -> RatingPull:
    snapshot = read_project(client, title_of(run, "ratings"), [one.key for one in documents])
    return ratings_in(snapshot, documents, criteria, ())
