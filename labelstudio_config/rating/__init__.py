"""The page on which documents are rated, and what comes back from it."""

from labelstudio_config.rating.project import rating_project, rating_title
from labelstudio_config.rating.pull import RatingPull, pull_ratings, ratings_in
from labelstudio_config.rating.tasks import rating_tasks

__all__ = ["RatingPull", "pull_ratings", "rating_project", "rating_tasks", "rating_title", "ratings_in"]
