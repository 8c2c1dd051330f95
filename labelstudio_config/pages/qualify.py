"""A qualification: applicants judge a gold pair on the page of a batch; no gold is in its tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from abcdlink.domain import Domain
from abcdlink.judgments import Annotator, Pool
from abcdlink.layout import QUALIFY_SLUG
from abcdlink.qualify.applicants import ANOMALIES, has_judgments, keep_judgments, people_of
from abcdlink.qualify.gold import GoldSet, gold_set_of
from abcdlink.store import Store
from labelstudio_config.answers import with_pseudonyms
from labelstudio_config.pages.annotate import batch_project, batch_tasks, judgments_in
from labelstudio_config.pages.page import JudgmentsPull, Page
from labelstudio_config.projects import Asked, Project, title_of
from labelstudio_config.snapshot import Snapshot

MOST_APPLICANTS = 50
"""So many people can judge each task; Label Studio wants a number."""


def qualification_title(run_key: str) -> str:
    """Return the title of the qualification's project."""
    return title_of(run_key, "qualification")


def qualification_project(run_key: str, domain: Domain) -> Project:
    """Return the project of a qualification."""
    project = batch_project(run_key, 1, domain, MOST_APPLICANTS)
    return project.model_copy(update={"title": qualification_title(run_key)})


def qualification_tasks(run_key: str, gold: GoldSet, domain: Domain) -> dict[str, dict[str, Any]]:
    """Return task key -> data, in the order in which applicants get the tasks."""
    return batch_tasks(run_key, 1, gold.pools, gold.corpus, domain)


APPLICANT = "applicant"
"""What the pseudonyms of applicants begin with: they are not yet the run's annotators."""


def applications_in(snapshot: Snapshot, pools: Sequence[Pool], applicants: Sequence[Annotator]) -> JudgmentsPull:
    """Read judgments from what is in Label Studio."""
    by_key = {pool.key: pool for pool in pools}
    return judgments_in(snapshot, by_key, with_pseudonyms(applicants, snapshot, APPLICANT))


class QualificationPage(Page):
    """The gold pair of a run. ``applicants``: so many are waited for, and more may apply."""

    applicants: int

    @property
    def slug(self) -> str:
        return QUALIFY_SLUG

    def ask(self, store: Store, domain: Domain) -> Asked:
        tasks = qualification_tasks(store.key, gold_set_of(store), domain)
        return Asked(qualification_project(store.key, domain), tasks, needed=self.applicants)

    def is_pulled(self, store: Store) -> bool:
        return has_judgments(store)

    def keep(self, store: Store, snapshot: Snapshot) -> None:
        result = applications_in(snapshot, gold_set_of(store).pools, people_of(store))
        keep_judgments(store, result.annotators, result.judgments, result.anomalies, result.raw)

    def counts(self, store: Store) -> dict[str, Any]:
        return {"applicants": len(people_of(store)), "anomalies": len(store.read_json(ANOMALIES))}
