"""The page of a feedback round: cases on which annotators differed, and the new guidelines."""

from labelstudio_config.feedback.project import feedback_project, feedback_title
from labelstudio_config.feedback.pull import FeedbackPull, pull_feedback
from labelstudio_config.feedback.tasks import feedback_tasks, notice_key

__all__ = ["FeedbackPull", "feedback_project", "feedback_tasks", "feedback_title", "notice_key", "pull_feedback"]
