"""The page of a qualification is that of a batch: applicants see and decide what annotators will."""

from labelstudio_config.qualification.project import (
    MOST_APPLICANTS,
    qualification_project,
    qualification_tasks,
    qualification_title,
)
from labelstudio_config.qualification.pull import applications_in, pull_qualification

__all__ = [
    "MOST_APPLICANTS",
    "applications_in",
    "pull_qualification",
    "qualification_project",
    "qualification_tasks",
    "qualification_title",
]
