"""The page on which disagreements are decided, and what comes back from it."""

from labelstudio_config.adjudication.project import adjudication_project, adjudication_title
from labelstudio_config.adjudication.pull import AdjudicationPull, adjudications_in, pull_adjudications
from labelstudio_config.adjudication.tasks import adjudication_tasks

__all__ = [
    "AdjudicationPull",
    "adjudication_project",
    "adjudication_tasks",
    "adjudication_title",
    "adjudications_in",
    "pull_adjudications",
]
