"""The gold pair as a project that any number of applicants may judge; no gold is in it."""

from __future__ import annotations

from typing import Any

from abcdlink.domain import Domain
from abcdlink.qualification.records import GoldSet
from labelstudio_config.linking.project import batch_project
from labelstudio_config.linking.tasks import batch_tasks
from labelstudio_config.projects import Project, title_of

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
