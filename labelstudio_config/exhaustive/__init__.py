"""The page of exhaustive judging: a source sentence, and every sentence of the target document."""

from labelstudio_config.exhaustive.project import exhaustive_project, exhaustive_title
from labelstudio_config.exhaustive.pull import judgments_in, pull_exhaustive
from labelstudio_config.exhaustive.tasks import exhaustive_tasks

__all__ = [
    "exhaustive_project",
    "exhaustive_tasks",
    "exhaustive_title",
    "judgments_in",
    "pull_exhaustive",
]
